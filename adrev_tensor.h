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
 *   tensor/syntax        from a text to its tree
 *   tensor/print         a tree as text of the language
 *   tensor/programs      a text that is bound: values, which are sums of terms
 *   tensor/sharing       equal values and equal terms
 *   tensor/lower         ranges and conditions go into the sets of terms
 *   tensor/splits        sets where a condition is true
 *   tensor/paths         in which order factors are multiplied
 *   tensor/formulas      from expressions to terms
 *   tensor/derive        derivation: tangents and adjoints of programs
 *   tensor/matrices      products of matrices by a packed kernel
 *   tensor/run           evaluates programs by loops
 *   tensor/queries       binding, values, derivatives and counts
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev.h"

#ifndef ADREV_TENSOR_H
#define ADREV_TENSOR_H

/* === tensor/api =============================================================
 * Formulas over indexed arrays, written as text: the interface. The language
 * is described in docs/tensor-language.md.
 *
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
 *   returns      ADREV_OK; ADREV_ESHAPE: t or an array is NULL, the text has no
 *                such name, or a number is impossible; ADREV_ENOMEM. On failure
 *                t stays as it was                                          */

// The size `name` is n. An n above 2^31 - 1 is impossible.
ADX_API ad_status ad_tensor_size(ad_tensor *t, const char *name, size_t n);

// The entries of a relation, in any order: entry e is (column[0][e],
// column[1][e], ...). Numbers on the relation, x[R], have this order. That
// entries lie in the ranges of the relation, and that none comes twice, is
// checked by ad_tensor_bind.
//
//   column       in    as many arrays [entries] as the relation has columns
ADX_API ad_status ad_tensor_relation(ad_tensor *t, const char *name,
                                     size_t entries,
                                     const int *const column[]);

// A relation of two columns as compressed rows: the entries of row i are
// (i, column[e]) for start[i] <= e < start[i + 1]. The size of the rows must
// have been given.
//
//   start  [rows + 1]     in    start[0] is 0
//   column [start[rows]]  in
ADX_API ad_status ad_tensor_csr(ad_tensor *t, const char *name,
                                const int start[], const int column[]);

// The values of a map at the points of its range, whose size must have been
// given. That they lie in the range of values is checked by ad_tensor_bind.
ADX_API ad_status ad_tensor_map(ad_tensor *t, const char *name,
                                const int value[]);

// How an input or a result lies in memory: stride[k] numbers from one place to
// the next along index k. (Default: dense, row by row. A range that does not
// begin with 0 begins at the first number all the same.) Strides of a result
// must give each of its numbers a place of its own. Along a relation the
// entries have one stride.
ADX_API ad_status ad_tensor_layout(ad_tensor *t, const char *array,
                                   const ptrdiff_t stride[]);

// Checks what was given, and that no read is outside its array; prepares the
// evaluation. Without it, the first evaluation does the same.
//
//   error        out   as of ad_tensor_new: what does not fit, which read is
//                      outside, and for which indices
//
//   returns      ADREV_OK; ADREV_ESHAPE: something was not given or does not
//                fit; ADREV_ELIMIT: an array, or the points at which a condition
//                is true, are too many to count; ADREV_ENOMEM
//   threads      while no other thread uses t; from then on any number
ADX_API ad_status ad_tensor_bind(ad_tensor *t, ad_tensor_error *error);

/* --- evaluation -------------------------------------------------------------
 * Arrays stand in the order of `in` and of `out` in the text; a number is an
 * array of one. Instead of v or w, or of one of their arrays, NULL stands for
 * zeros. Instead of y, dy, dx, g or hv, or of one of their arrays, NULL says
 * that it is not wanted; it is then not computed. Results overlap no argument
 * and no other result. Any number of threads may evaluate t once it is bound.
 *
 *   returns      ADREV_OK; ADREV_ESHAPE: an array is missing, or what
 *                ad_tensor_bind would say; ADREV_ENOMEM. On failure results are
 *                untouched
 *   cost         the multiples of the program's own cost that "What it costs" of
 *                docs/tensor-language.md states                              */

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
//
//   returns      as above; ADREV_EEXTERNAL: a function of inputs whose second
//                derivative is not known here, which are all but exp, sqr, fma
//                and those that are linear
ADX_API ad_status ad_tensor_hvp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const w[],
                                const ad_real *const v[], ad_real *const hv[]);

/* --- what it takes ------------------------------------------------------- */

// Counts the operations of a part without computing it.
//
//   wanted       in    which results of the part are wanted, in their order;
//                      NULL: all
ADX_API ad_status ad_tensor_count(ad_tensor *t, ad_tensor_part part,
                                  const bool wanted[], ad_tensor_cost *cost);

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
    ADX_TREE_CALL,          // row `of` of the operator table, ADREV_OP_detach
                            // among them, of the children
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

// Counts include element 0.
typedef struct adx_tree {
    const ad_allocator *memory;
    char *text;
    size_t length;

    adx_declared *declared;
    size_t declared_count, declared_room;
    uint32_t *slot;         // of a hash table: elements of `declared`
    size_t slots;           // a power of two
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

// Whether two forms are the same, in whatever order their terms are. (Where maps
// are nested, hashes keep this from looking at all pairs of terms.)
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

static uint32_t adx_mix(uint32_t hash, uint64_t v)
{
    v = (v ^ hash) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(v ^ v >> 32);
}

// The hash of a form whose terms are kept: the order of these is all one.
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

// One more element, all zeros. Returns its number; 0: no memory.
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
#define ADX_EACH(name) adx_drop(tree->memory, tree->name);
    ADX_TREE_ARRAYS(ADX_EACH)
#undef ADX_EACH
    adx_drop(tree->memory, tree->slot);
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
#define ADX_EACH(name)                                                      \
    ADX_ONE_MORE(tree, name);                                               \
    if (tree->name##_count == 0)                                            \
        return false;
    ADX_TREE_ARRAYS(ADX_EACH)
#undef ADX_EACH
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
 *           adx_locate adx_say_spot adx_explain_at adx_explain_status
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Text of limited length; what is beyond is left out.
typedef struct adx_saying {
    char *text;
    size_t n;
    size_t room;            // with the zero byte
} adx_saying;

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

static bool adx_begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

// Bytes of the character at `at`, which is before `end`.
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

// The character, in one column; a tab is a blank.
static void adx_say_character(adx_saying *s, const char *c, size_t n)
{
    if (*c == '\t')
        adx_say_string(s, " ");
    else if (!adx_is_shown(c, n))
        adx_say_string(s, "?");
    else if (s->n + n < s->room)
        adx_say_bytes(s, c, n);
}

// The line and the column of a place in the text, and where its line begins.
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

// Where a part of the line begins that leaves room for the text behind the
// caret: the caret's line takes as many bytes as its part has columns.
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

// The line from `begin` to `end`, and a caret under `at`. Leading blanks are
// left out, and so is what there is no room for.
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

// A piece of the text within a message, shortened.
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

// %w: a piece of the text, adx_spot; %s: a string; %u: uint32_t.
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

// An error without a place.
static void adx_explain_status(ad_tensor_error *error, ad_status status)
{
    adx_saying s = { error->text, 0, sizeof error->text };
    error->line = error->column = 0;
    adx_say_string(&s, ad_message(status));
}

ADX_SELDOM_END

/* === tensor/scan ============================================================
 * The words of a text one after another, and the first thing that is wrong
 * with it. After that, or where the text ends, all words are the end: so no
 * loop over words goes on.
 *
 *   needs   tensor/api tensor/tree tensor/messages
 *   offers  ADX_WORD_END ADX_WORD_NAME ADX_WORD_NUMBER ADX_WORD_LE ADX_WORD_GE
 *           ADX_WORD_EQ ADX_WORD_NE ADX_WORD_ARROW adx_parser adx_stop
 *           adx_wrong_at adx_ends_line adx_say_missing adx_is_figure
 *           adx_take_from adx_take_word adx_took adx_expect adx_following
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

static void adx_stop(adx_parser *p, ad_status status)
{
    if (p->status == ADREV_OK) {
        p->status = status;
        adx_explain_status(p->error, status);
    }
    p->kind = ADX_WORD_END;
}

// The text is wrong at `at`: the first time, that is the error.
ADX_COLD static void adx_wrong_at(adx_parser *p, uint32_t at, const char *format, ...)
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

static bool adx_ends_line(const adx_parser *p, uint32_t from, uint32_t to)
{
    return memchr(p->tree->text + from, '\n', to - from) != NULL;
}

// What should stand before the word at hand is missing. At the end of a line the
// place is that end.
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

static bool adx_begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool adx_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v'
        || c == '\f';
}

// Blanks and comments. Returns where the next word begins.
static uint32_t adx_skip(adx_parser *p, uint32_t at)
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

static uint32_t adx_skip_figures(const char *text, uint32_t at)
{
    while (adx_is_figure(text[at]))
        at++;
    return at;
}

// A number: 12, 1.5, .5, 1., 2e-3. Returns its end.
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

// A character that begins no word.
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

// To the word that begins at or behind `at`.
static void adx_take_from(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    at = adx_skip(p, at);
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

// To the next word. Returns where the last one was.
static adx_spot adx_take_word(adx_parser *p)
{
    adx_spot last = p->spot;
    p->behind = last.at + last.length;
    if (p->status == ADREV_OK)
        adx_take_from(p, p->behind);
    return last;
}

// Whether the word at hand is this one; then to the next.
static bool adx_took(adx_parser *p, int kind)
{
    if (p->kind != kind || kind == ADX_WORD_END)
        return false;
    adx_take_word(p);
    return true;
}

static void adx_expect(adx_parser *p, int kind, const char *what)
{
    if (!adx_took(p, kind))
        adx_say_missing(p, what);
}

// The character of the text behind the word at hand, and behind blanks.
static char adx_following(adx_parser *p)
{
    return p->tree->text[adx_skip(p, p->spot.at + p->spot.length)];
}

static bool adx_is_text(const adx_tree *tree, adx_spot spot, const char *text)
{
    return spot.length == strlen(text)
        && memcmp(tree->text + spot.at, text, spot.length) == 0;
}

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

// One bracket more is open. False: too many are.
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
 * The value of a number in a text: the nearest one, whatever the locale.
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

static bool adx_is_below(const adx_natural *x, const adx_natural *y)
{
    if (x->n != y->n)
        return x->n < y->n;
    for (unsigned i = x->n; i-- > 0;)
        if (x->v[i] != y->v[i])
            return x->v[i] < y->v[i];
    return false;
}

// x -= y, which is not larger.
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

// x/y, rounded to the nearest double, ties to even. x and y are not 0.
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

// m * 10^e for the digits of m.
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
 * guessed: two different ranges are an error, and so is none.
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

// The slot of a name: it holds its number, or 0.
static uint32_t *adx_name_slot(const adx_tree *tree, uint32_t hash,
                             const char *name, size_t length)
{
    size_t i = hash & (tree->slots - 1);
    for (; tree->slot[i] != 0; i = (i + 1) & (tree->slots - 1)) {
        const adx_declared *d = &tree->declared[tree->slot[i]];
        if (d->hash == hash && d->name.length == length
            && memcmp(tree->text + d->name.at, name, length) == 0)
            break;
    }
    return &tree->slot[i];
}

// What is declared by this name; NULL: nothing.
static const adx_declared *adx_find_declared(const adx_tree *tree,
                                             const char *name, size_t length)
{
    if (tree->slots == 0)
        return NULL;
    uint32_t found = *adx_name_slot(tree, adx_hash_of(name, length), name,
                                  length);
    return found == 0 ? NULL : &tree->declared[found];
}

static const adx_declared *adx_declared_at(const adx_tree *tree, adx_spot spot)
{
    return adx_find_declared(tree, tree->text + spot.at, spot.length);
}

// Slots for one name more; at most half of them are taken.
static bool adx_widen_slots(adx_tree *tree)
{
    size_t slots = tree->slots == 0 ? 32 : 2 * tree->slots;
    if (2 * tree->declared_count + 2 < tree->slots)
        return true;
    uint32_t *slot = (uint32_t *)adx_take(tree->memory, slots, sizeof *slot);
    if (slot == NULL)
        return false;
    memset(slot, 0, slots * sizeof *slot);
    adx_drop(tree->memory, tree->slot);
    tree->slot = slot;
    tree->slots = slots;
    for (uint32_t i = 1; i < tree->declared_count; i++) {
        const adx_declared *d = &tree->declared[i];
        *adx_name_slot(tree, d->hash, tree->text + d->name.at,
                       d->name.length) = i;
    }
    return true;
}

static const char *adx_kind_text(const adx_tree *tree, const adx_declared *d)
{
    return d->kind == ADX_NAMES_SIZE ? "a size" : d->kind == ADX_NAMES_RELATION
         ? "a relation" : d->kind == ADX_NAMES_MAP ? "a map"
         : tree->array[d->of].formula == 0 ? "an input" : "a result";
}

static uint32_t adx_line_of(const adx_tree *tree, uint32_t at)
{
    int line;
    int column;
    adx_locate(tree, at, &line, &column);
    return (uint32_t)line;
}

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

// The name at hand, which may be declared or bound; where it was.
static adx_spot adx_new_name(adx_parser *p, const char *what)
{
    const adx_spot none = { 0, 0 };
    if (p->kind != ADX_WORD_NAME)
        adx_say_missing(p, what);
    return p->status == ADREV_OK && adx_is_free(p, p->spot)
         ? adx_take_word(p) : none;
}

static void adx_declare(adx_parser *p, adx_spot name, adx_declared_kind kind,
                        uint32_t of)
{
    adx_tree *tree = p->tree;
    if (p->status != ADREV_OK || !adx_is_free(p, name))
        return;
    uint32_t i = of != 0 && adx_widen_slots(tree) ? ADX_ONE_MORE(tree, declared)
                                                  : 0;
    if (i == 0) {
        adx_stop(p, ADREV_ENOMEM);
        return;
    }
    adx_declared *d = &tree->declared[i];
    const char *text = tree->text + name.at;
    d->name = name;
    d->kind = kind;
    d->of = of;
    d->hash = adx_hash_of(text, name.length);
    *adx_name_slot(tree, d->hash, text, name.length) = i;
}

// The size at hand, declared by being there for the first time.
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

static char adx_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

// How many letters a must gain, lose, change or swap to be b; 9: more than two.
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
            bool same = adx_lower(a[i - 1]) == adx_lower(b[j - 1]);
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

// Says that the name at hand is not known, and which one is like it. Short
// names are all alike: of two letters only the case may differ.
ADX_COLD static void adx_unknown_name(adx_parser *p, bool function)
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
        adx_wrong_at(p, spot.at, function ? "'%w' is no function"
                                          : "'%w' is not known here", spot);
        return;
    }
    memcpy(copy, k.name, k.length);
    copy[k.length] = '\0';
    adx_wrong_at(p, spot.at, function ? "'%w' is no function; is it '%s'?"
                 : "'%w' is not known here; is it '%s'?", spot, copy);
}

/* --- indices ------------------------------------------------------------- */

// The index of this name that is in scope; 0: none.
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
        adx_stop(p, ADREV_ENOMEM);
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

static void adx_too_large(adx_parser *p, uint32_t at)
{
    adx_wrong_at(p, at, "a whole number here is beyond 2^63");
}

// Neither gives -2^63, so that a sign can always change.
static int64_t adx_whole_plus(adx_parser *p, int64_t a, int64_t b, uint32_t at)
{
    if (b > 0 ? a > INT64_MAX - b : a < -INT64_MAX - b) {
        adx_too_large(p, at);
        return 0;
    }
    return a + b;
}

static int64_t adx_whole_times(adx_parser *p, int64_t a, int64_t b, uint32_t at)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (x != 0 && y > (uint64_t)INT64_MAX / x) {
        adx_too_large(p, at);
        return 0;
    }
    return (int64_t)(x * y) * ((a < 0) == (b < 0) ? 1 : -1);
}

static void adx_push_term(adx_parser *p, int64_t k, adx_multiple_kind kind,
                          uint32_t of, uint32_t argument)
{
    if (p->status != ADREV_OK)
        return;
    if (!adx_extend(p->tree->memory, (void **)&p->term, &p->term_room,
                    p->terms + 1, sizeof *p->term)) {
        adx_stop(p, ADREV_ENOMEM);
        return;
    }
    const adx_multiple term = { k, kind, of, argument };
    p->term[p->terms++] = term;
}

// f *= k.
static void adx_scale_form(adx_parser *p, adx_open_form *f, int64_t k)
{
    f->constant = adx_whole_times(p, f->constant, k, f->at);
    for (size_t i = f->first; i < p->terms; i++)
        p->term[i].k = adx_whole_times(p, p->term[i].k, k, f->at);
}

// f += g, which lies above f and is gone then.
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

static adx_open_form adx_open_here(const adx_parser *p)
{
    const adx_open_form f = { 0, p->terms, p->spot.at };
    return f;
}

// Keeps the form in the tree. Returns its number.
static uint32_t adx_keep_form(adx_parser *p, const adx_open_form *f)
{
    adx_tree *tree = p->tree;
    uint32_t first = (uint32_t)tree->multiple_count;
    for (size_t i = f->first; i < p->terms && p->status == ADREV_OK; i++) {
        uint32_t kept = p->term[i].k == 0 ? 0 : ADX_ONE_MORE(tree, multiple);
        if (kept != 0)
            tree->multiple[kept] = p->term[i];
        else if (p->term[i].k != 0)
            adx_stop(p, ADREV_ENOMEM);
    }
    p->terms = f->first;
    uint32_t form = p->status == ADREV_OK ? ADX_ONE_MORE(tree, form) : 0;
    if (form == 0) {
        adx_stop(p, ADREV_ENOMEM);
        return 0;
    }
    adx_affine kept = { f->constant, first,
                        (uint32_t)tree->multiple_count - first, f->at, 0 };
    kept.hash = adx_hash_form(tree, &kept);
    tree->form[form] = kept;
    return form;
}

// f += k * a form of the tree.
static void adx_add_kept(adx_parser *p, adx_open_form *f, uint32_t form,
                         int64_t k)
{
    const adx_affine *kept = &p->tree->form[form];
    adx_open_form g = { kept->constant, p->terms, f->at };
    for (uint32_t i = 0; i < kept->count; i++) {
        adx_multiple m = p->tree->multiple[kept->first + i];
        adx_push_term(p, m.k, m.kind, m.of, m.argument);
    }
    adx_scale_form(p, &g, k);
    adx_add_form(p, f, &g);
}

// one - other - less, as a new form.
static uint32_t adx_difference(adx_parser *p, uint32_t one, uint32_t other,
                               int64_t less)
{
    adx_open_form f = { -less, p->terms, p->tree->form[one].at };
    adx_add_kept(p, &f, one, 1);
    adx_add_kept(p, &f, other, -1);
    return adx_keep_form(p, &f);
}

/* --- reading -------------------------------------------------------------- */

static adx_open_form adx_read_open_form(adx_parser *p, adx_form_kind kind);
static uint32_t adx_read_form(adx_parser *p, adx_form_kind kind);

// A map at a form; the name is at hand.
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
        adx_unknown_name(p, false);
}

// A name in a form.
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

static void adx_read_whole(adx_parser *p, adx_open_form *f)
{
    if (!p->whole)
        adx_wrong_at(p, p->spot.at, "here are whole numbers only");
    else if (adx_whole_value(p, &f->constant))
        adx_take_word(p);
}

static adx_open_form adx_read_factor(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_open_here(p);
    bool minus = false;
    for (; adx_took(p, '-'); minus = !minus) {}
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

static bool adx_number_follows(adx_parser *p)
{
    char c = adx_following(p);
    return adx_is_figure(c) || c == '-' || c == '.';
}

static void adx_product_of_names(adx_parser *p, uint32_t at)
{
    adx_wrong_at(p, at, "a product of two names is not affine: one factor must "
                 "be a whole number");
}

static adx_open_form adx_read_form_term(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_read_factor(p, kind);
    while (p->kind == '*') {
        bool number = p->terms == f.first;
        if (!number && !adx_number_follows(p)) {
            if (adx_form_follows(p, kind))
                adx_product_of_names(p, p->spot.at);
            break;                  // a bracket is missing
        }
        adx_take_word(p);
        adx_open_form g = adx_read_factor(p, kind);
        if (!number && p->terms > g.first)
            adx_product_of_names(p, f.at);
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

static uint32_t adx_read_form(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_read_open_form(p, kind);
    return adx_keep_form(p, &f);
}

/* --- ranges -------------------------------------------------------------- */

// A range, `size` or `from : to`, as the numbers of two forms.
static void adx_read_range(adx_parser *p, adx_form_kind kind, uint32_t *from,
                           uint32_t *to)
{
    *from = 1;
    *to = adx_read_form(p, kind);
    if (adx_took(p, ':')) {
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
 * a < b is kept as b - a - 1 >= 0; every comparison is of a form with 0.
 *
 *   needs   tensor/tree tensor/scan tensor/names tensor/forms
 *   offers  adx_new_tree_node adx_children adx_add_child adx_of_children
 *           adx_read_forms adx_read_bound adx_read_condition
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- nodes --------------------------------------------------------------- */

static uint32_t adx_new_tree_node(adx_parser *p, adx_tree_kind kind,
                                  adx_spot spot)
{
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(p->tree, node) : 0;
    if (i == 0)
        adx_stop(p, ADREV_ENOMEM);
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

static void adx_add_child(adx_parser *p, adx_children *c, uint32_t child)
{
    if (c->first == 0)
        c->first = child;
    else
        p->tree->node[c->last].next = child;
    c->last = child;
}

// A node of the children; a single one, if it is not inverse, stands for
// itself.
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

// Forms up to `close`, as many as `dims` has; each can give an index its range,
// unless they are guarded. To the word behind `close`.
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
            adx_stop(p, ADREV_ENOMEM);
        tree->list[i] = form;
        if (count < rank && !guarded)
            adx_stands_at(p, form, dims + count, spot.at);
        count++;
    } while (adx_took(p, ','));
    adx_expect(p, close, close == ']' ? "']'" : "')'");
    if (count != rank)
        adx_wrong_at(p, spot.at, "'%w' has %u %s, not %u", spot, rank,
                     rank == 1 ? "index" : "indices", count);
    tree->node[node].first = first;
    tree->node[node].count = count;
    tree->node[node].end = p->behind;
}

/* --- indices that are bound ---------------------------------------------- */

// The range behind the name of an index, if there is one.
static void adx_read_given_range(adx_parser *p, uint32_t index)
{
    uint32_t from = 1;
    uint32_t to = 0;
    if (adx_took(p, '<'))
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

// Indices, until no comma follows; they are in scope from here on.
static void adx_read_bound(adx_parser *p)
{
    do
        adx_read_given_range(p, adx_bind_index(p));
    while (adx_took(p, ','));
}

/* --- conditions ---------------------------------------------------------- */

static uint32_t adx_read_condition(adx_parser *p);

// (indices: condition) and what follows is that of a sum; here the condition
// must be there. The '(' is at hand.
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

// one (sign) other, as a form and 0.
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

// a < b <= c ...: comparisons of neighbours.
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

// A node of one of the kinds for conditions.
static uint32_t adx_read_condition(adx_parser *p)
{
    adx_children any = { 0, 0 };
    do {
        adx_children both = { 0, 0 };
        do
            adx_read_comparison(p, &both);
        while (adx_took(p, ','));
        adx_add_child(p, &any, adx_of_children(p, ADX_TREE_AND, &both));
    } while (adx_took(p, '|'));
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

static uint32_t adx_read_number(adx_parser *p)
{
    ad_real value = adx_number_value(p);
    uint32_t i = adx_new_tree_node(p, ADX_TREE_NUMBER, p->spot);
    p->tree->node[i].value = value;
    adx_take_word(p);
    return i;
}

// "(", what is in it, ")".
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

// An array, read at forms or, if it is a number, as it is. The name is at hand.
static uint32_t adx_read_read(adx_parser *p, uint32_t array)
{
    const adx_tensor_array a = p->tree->array[array];
    uint32_t i = adx_new_tree_node(p, ADX_TREE_READ, p->spot);
    adx_spot name = adx_take_word(p);
    bool guarded = adx_took(p, '?');
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

// The row of the operator table by this name, ADREV_OP_detach among them;
// ADREV_OP_COUNT: none.
static uint32_t adx_row_named(const adx_tree *tree, adx_spot name)
{
    uint32_t op = 0;
    while (op < ADREV_OP_COUNT
           && !adx_is_text(tree, name, ad_op_table()[op].name))
        op++;
    return op;
}

// What a row is in the tree: arithmetic has nodes of its own.
static adx_tree_kind adx_kind_of_row(uint32_t op)
{
    return op == ADREV_OP_add || op == ADREV_OP_sub ? ADX_TREE_ADD
         : op == ADREV_OP_mul || op == ADREV_OP_div ? ADX_TREE_MUL
         : op == ADREV_OP_neg ? ADX_TREE_NEG : ADX_TREE_CALL;
}

// The arguments of a function; '(' is at hand. Returns how many there are.
static uint32_t adx_read_arguments(adx_parser *p, adx_children *c)
{
    uint32_t count = 0;
    if (!adx_descend(p))
        return 0;
    adx_take_word(p);
    do {
        adx_add_child(p, c, adx_read_sum(p));
        count++;
    } while (adx_took(p, ','));
    adx_end_sum(p, ')');
    adx_ascend(p);
    return count;
}

// A row of the table; its name is at hand.
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
    uint32_t i = adx_new_tree_node(p, adx_kind_of_row(op), name);
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
    else if (!call && adx_row_named(p->tree, name) < ADREV_OP_COUNT)
        adx_wrong_at(p, name.at, "'%w' is a function: write %w(..)", name,
                     name);
    else
        adx_unknown_name(p, call);
}

// A name in an expression.
static uint32_t adx_read_named(adx_parser *p)
{
    const adx_declared *d = adx_declared_at(p->tree, p->spot);
    uint32_t op = d == NULL && adx_following(p) == '('
                ? adx_row_named(p->tree, p->spot) : ADREV_OP_COUNT;
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

// The whole exponent behind '^', which is at hand.
static int32_t adx_read_exponent(adx_parser *p)
{
    int64_t value = 0;
    adx_take_word(p);
    bool minus = adx_took(p, '-');
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

// [condition] product; '[' is at hand.
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

// sum(indices: condition) product, and the like; the word is at hand.
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
    uint32_t condition = adx_took(p, ':') ? adx_read_condition(p) : 0;
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

static uint32_t adx_negative(adx_parser *p, adx_spot sign, uint32_t child)
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

static uint32_t adx_read_unary(adx_parser *p)
{
    const adx_spot sign = p->spot;
    bool minus = false;
    for (; adx_took(p, '-'); minus = !minus) {}
    uint32_t i = p->kind == '[' ? adx_read_bracket(p)
               : adx_is_word(p, "sum") ? adx_read_reduction(p, ADX_TREE_SUM)
               : adx_is_word(p, "maximum")
               ? adx_read_reduction(p, ADX_TREE_MAXIMUM)
               : adx_is_word(p, "minimum")
               ? adx_read_reduction(p, ADX_TREE_MINIMUM) : adx_read_power(p);
    return minus ? adx_negative(p, sign, i) : i;
}

// Operands of two signs that bind alike, of which the second one inverts.
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

static uint32_t adx_read_product(adx_parser *p)
{
    return adx_read_operands(p, ADX_TREE_MUL, adx_read_unary, '*', '/');
}

static uint32_t adx_read_sum(adx_parser *p)
{
    return adx_read_operands(p, ADX_TREE_ADD, adx_read_product, '+', '-');
}

ADX_SELDOM_END

/* === tensor/arena ===========================================================
 * Memory of a text that is bound: pieces that live until all are freed.
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
    adx_arena_block *block;
    char *at;
    size_t left;
    ad_status status;           // of everything that was made in it
} adx_arena;

static void adx_arena_fail(adx_arena *a, ad_status status)
{
    if (a->status == ADREV_OK)
        a->status = status;
}

#define ADX_ARENA_BLOCK 16000   // bytes

// n elements, all zeros. NULL: no memory, which a->status says, too.
static void *adx_arena_get(adx_arena *a, size_t n, size_t size)
{
    if (n > SIZE_MAX / 4 / size) {
        adx_arena_fail(a, ADREV_ENOMEM);
        return NULL;
    }
    size_t bytes = (n * size + 15) / 16 * 16;
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
 * Sizes are numbers here: sets are made when a text is bound.
 *
 *   needs   tensor/arena
 *   offers  adx_int_table adx_bitmap adx_has_bit adx_set_bit ADX_BITS_MOST
 *           adx_new_bitmap adx_invert_table adx_row_kind ADX_ROW_GONE
 *           ADX_ROW_FORM ADX_ROW_ZERO ADX_ROW_SIGN ADX_ROW_VALUE ADX_ROW_BIT
 *           ADX_ROW_NO_BIT adx_set_row adx_set adx_form_of adx_new_set
 *           adx_copy_set adx_new_var adx_new_row ADX_WHOLE_MOST adx_whole_add
 *           adx_add_multiple adx_extreme adx_floor_div adx_ceil_div
 *           adx_divisor_of adx_simplify_set adx_box_points ADX_ROWS_MOST
 *           adx_combine_all adx_project
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- tables and bitmaps -------------------------------------------------- */

// A map, or a column of a relation: value[a - from] for an argument a.
typedef struct adx_int_table {
    const int32_t *value;
    int64_t from;
    size_t n;
    int64_t low, high;          // bounds of the values
    uint32_t *start;            // [high - low + 2]: which arguments have a value:
    uint32_t *argument;         // [n] argument[start[v - low]...], less `from`;
                                // NULL: not made yet
} adx_int_table;

typedef struct adx_bitmap {
    uint64_t *word;
    uint64_t n;                 // bits
    uint64_t set;               // how many are 1
} adx_bitmap;

static bool adx_has_bit(const adx_bitmap *b, uint64_t i)
{
    return b->word[i / 64] >> (i % 64) & 1;
}

static void adx_set_bit(adx_bitmap *b, uint64_t i)
{
    b->set += !adx_has_bit(b, i);
    b->word[i / 64] |= (uint64_t)1 << (i % 64);
}

// More than this is not marked bit by bit.
#define ADX_BITS_MOST ((uint64_t)1 << 36)

// NULL: no memory, or too many.
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

// Which arguments have a value, in their order. False: no memory.
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
    adx_set_row *row;
    int64_t *k;                 // [rows][width] constant, then coefficients
    uint32_t rows, room;
    bool empty;
} adx_set;

static int64_t *adx_form_of(const adx_set *s, uint32_t row)
{
    return s->k + (size_t)row * s->width;
}

// Room for so many rows and variables. False: no memory.
static bool adx_widen_set(adx_set *s, uint32_t room, uint32_t width)
{
    adx_set to = *s;
    to.room = room;
    to.width = width;
    to.low = ADX_GET(s->arena, width, int64_t);
    to.high = ADX_GET(s->arena, width, int64_t);
    to.gone = ADX_GET(s->arena, width, bool);
    to.row = ADX_GET(s->arena, room, adx_set_row);
    to.k = ADX_GET(s->arena, (size_t)room * width, int64_t);
    if (to.low == NULL || to.high == NULL || to.gone == NULL || to.row == NULL
        || to.k == NULL)
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
    }
    *s = to;
    return true;
}

// The set of one point without coordinates. NULL: no memory.
static adx_set *adx_new_set(adx_arena *a)
{
    adx_set *s = ADX_GET(a, 1, adx_set);
    if (s == NULL)
        return NULL;
    s->arena = a;
    return adx_widen_set(s, 8, 8) ? s : NULL;
}

static adx_set *adx_copy_set(const adx_set *s)
{
    adx_set *to = ADX_GET(s->arena, 1, adx_set);
    if (to == NULL)
        return NULL;
    *to = *s;
    return adx_widen_set(to, s->rows + 4, s->vars + 4) ? to : NULL;
}

// A variable from low to high; its number. UINT32_MAX: no memory.
static uint32_t adx_new_var(adx_set *s, int64_t low, int64_t high)
{
    if (1 + s->vars == s->width && !adx_widen_set(s, s->room, 2 * s->width))
        return UINT32_MAX;
    s->low[s->vars] = low;
    s->high[s->vars] = high;
    s->empty = s->empty || low > high;
    return s->vars++;
}

// A row, all zeros; its number. UINT32_MAX: no memory.
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

// to + a*b, within what a text can need.
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

// to += c * from
static void adx_add_multiple(const adx_set *s, int64_t to[], int64_t c,
                        const int64_t from[])
{
    for (uint32_t i = 0; c != 0 && i <= s->vars; i++)
        to[i] = adx_whole_add(s->arena, to[i], c, from[i]);
}

// What a form is at least, or at most, for all values of its variables.
static int64_t adx_extreme(const adx_set *s, const int64_t form[], bool most)
{
    int64_t sum = form[0];
    for (uint32_t v = 0; v < s->vars; v++)
        sum = adx_whole_add(s->arena, sum, form[1 + v],
                            (form[1 + v] > 0) == most ? s->high[v] : s->low[v]);
    return sum;
}

static int64_t adx_floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

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

// Greatest common divisor of the coefficients; how many there are, and one of
// them.
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

/* --- simpler sets -------------------------------------------------------- */

// x[v] has this value only.
static void adx_fix_var(adx_set *s, uint32_t v, int64_t value)
{
    if (value < s->low[v] || value > s->high[v])
        s->empty = true;
    for (uint32_t r = 0; r < s->rows; r++) {
        int64_t *form = adx_form_of(s, r);
        form[0] = adx_whole_add(s->arena, form[0], form[1 + v], value);
        form[1 + v] = 0;
    }
    s->gone[v] = true;
}

// The bounds of a variable as rows.
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

// A row that must be 0: says nothing, fixes a variable, or replaces one: the
// latest with coefficient 1 or -1. Whether something changed.
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
    for (v = s->vars; v-- > 0;)
        if (form[1 + v] == 1 || form[1 + v] == -1) {
            adx_replace_var(s, v, r);
            return true;
        }
    return false;
}

// Whether a row before this one says the same of its form; the stronger one
// stays.
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

// A row that must not be negative: always is so, never is, or bounds a
// variable. Whether something changed.
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

// A value of a map that is always the same argument's.
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

// Replaces what equations give, tightens bounds, and forgets what always holds.
static void adx_simplify_set(adx_set *s)
{
    bool changed = true;
    while (changed && !s->empty && s->arena->status == ADREV_OK) {
        changed = false;
        for (uint32_t v = 0; v < s->vars; v++) {
            s->empty = s->empty || (!s->gone[v] && s->low[v] > s->high[v]);
            if (!s->gone[v] && s->low[v] == s->high[v])
                adx_fix_var(s, v, s->low[v]);
        }
        for (uint32_t r = 0; r < s->rows && !s->empty; r++)
            changed = adx_use_row(s, r) || changed;
    }
}

// Points, if only bounds of variables are left; else UINT64_MAX.
static uint64_t adx_box_points(const adx_set *s)
{
    uint64_t n = 1;
    if (s->empty)
        return 0;
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind > ADX_ROW_FORM)
            return UINT64_MAX;
    for (uint32_t v = 0; v < s->vars; v++)
        if (!s->gone[v]) {
            uint64_t extent = (uint64_t)(s->high[v] - s->low[v]) + 1;
            if (n > UINT64_MAX / 2 / extent)
                return UINT64_MAX;
            n *= extent;
        }
    return n;
}

/* --- projections ---------------------------------------------------------
 * The points of the kept variables alone. Where this is not exactly what
 * remains, it is left to bits (tensor/nests).                                */

// In how many rows of conditions a variable is; of them, those with signs.
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

// Fourier and Motzkin: each bound from below with each from above, of the first
// `rows`, while there are fewer than `most`.
static void adx_combine_all(adx_set *s, uint32_t v, uint32_t rows, uint32_t most)
{
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < rows && s->rows < most; j++)
            if (s->row[i].kind == ADX_ROW_SIGN && s->row[j].kind == ADX_ROW_SIGN
                && adx_form_of(s, i)[1 + v] > 0 && adx_form_of(s, j)[1 + v] < 0)
                adx_combine_bounds(s, v, i, j);
}

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

// The row that makes v the value of a map, where any value will do; or
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

// Forgets a variable. False: not without loss.
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

// Forgets all variables but those that are kept; forms that are carried along
// may have no others. False: something was not exact, and the set is of no use.
static bool adx_project(adx_set *s, const bool keep[])
{
    bool changed = true;
    bool left = true;
    adx_simplify_set(s);
    while (changed && left && !s->empty && s->arena->status == ADREV_OK) {
        changed = left = false;
        for (uint32_t v = 0; v < s->vars; v++)
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
 *   needs   tensor/arena tensor/sets
 *   offers  adx_sparse_form adx_sparse_at adx_make_sparse_form adx_nest
 *           ADX_NOT_YET ADX_IN_ORDER adx_is_unit adx_make_nest adx_point_fn
 *           adx_walk_nest
 * ========================================================================== */

// c + sum k[i]*x[var[i]]
typedef struct adx_sparse_form {
    int64_t c;
    uint32_t n;
    uint32_t *var;
    int64_t *k;
} adx_sparse_form;

static int64_t adx_sparse_at(const adx_sparse_form *f, const int64_t x[])
{
    int64_t sum = f->c;
    for (uint32_t i = 0; i < f->n; i++)
        sum += f->k[i] * x[f->var[i]];
    return sum;
}

// The form without variable v, UINT32_MAX: with all. False: no memory.
static bool adx_make_sparse_form(const adx_set *s, const int64_t form[], uint32_t v,
                            adx_sparse_form *to)
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

typedef struct adx_nest_level {
    adx_level_kind kind;
    uint32_t var;
    int64_t low, high;
    int64_t k;
    adx_sparse_form form;
    adx_sparse_form argument;
    const adx_int_table *table;
    adx_set_check *bound;
    uint32_t bounds;
    adx_set_check *check;
    uint32_t checks;
} adx_nest_level;

typedef struct adx_nest {
    adx_nest_level *level;
    uint32_t levels;
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

// How v would get its value now, by which row, and for how many values.
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

// The next variable: the one with the fewest values; of ranges that are as
// long, the first. inner waits for all others.
static uint32_t adx_next_var(const adx_ordering *k, uint32_t inner,
                             adx_level_kind *kind, uint32_t *row)
{
    uint32_t best = UINT32_MAX;
    double least = 0;
    for (uint32_t v = 0; v < k->s->vars; v++) {
        double count;
        uint32_t by;
        if (k->s->gone[v] || k->when[v] != ADX_NOT_YET)
            continue;
        adx_level_kind way = adx_ways_to(k, v, &by, &count);
        if (v == inner && way == ADX_LEVEL_RANGE)
            count = 1e300;
        if (k->in_order && way == ADX_LEVEL_RANGE)
            count = 2;
        if (best == UINT32_MAX || count < least) {
            best = v;
            least = count;
            *kind = way;
            *row = by;
        }
    }
    return best;
}

/* --- levels -------------------------------------------------------------- */

// Rows that follow from those of `s`, in which the later variables are gone:
// only to narrow ranges.
static void adx_narrow_ranges(adx_ordering *k)
{
    adx_set *s = k->s;
    for (uint32_t l = k->nest->levels; l-- > 1;) {
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
        }
    }
}

// The level at which all variables of a row are known. UINT32_MAX: it has none.
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
    return adx_make_sparse_form(s, adx_form_of(s, r), bound ? l->var : UINT32_MAX,
                           &to->form)
        && (to->kind != ADX_ROW_VALUE
            || adx_make_sparse_form(s, adx_form_of(s, s->row[r].at), UINT32_MAX,
                               &to->argument));
}

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

static bool adx_begin_level(adx_ordering *k, adx_nest_level *l, uint32_t v,
                            adx_level_kind kind, uint32_t row)
{
    adx_set *s = k->s;
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

// Loops over a set, which is simplified. inner: the variable that should be the
// innermost one; UINT32_MAX: none; ADX_IN_ORDER: points are visited in the order
// of their variables. NULL: no memory.
static adx_nest *adx_make_nest(const adx_set *set, uint32_t inner)
{
    adx_ordering k = { .s = adx_copy_set(set),
                       .in_order = inner == ADX_IN_ORDER };
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
    for (;;) {
        adx_level_kind kind = ADX_LEVEL_RANGE;
        uint32_t row = UINT32_MAX;
        uint32_t v = adx_next_var(&k, inner, &kind, &row);
        if (v == UINT32_MAX)
            break;
        if (!adx_begin_level(&k, &k.nest->level[k.nest->levels], v, kind, row))
            return NULL;
        k.nest->levels++;
    }
    adx_narrow_ranges(&k);
    return adx_place_rows(&k) && a->status == ADREV_OK ? k.nest : NULL;
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

// x[var] has its value.
static bool adx_walk_on(const adx_nest_walk *w, uint32_t level)
{
    const adx_nest_level *l = &w->nest->level[level];
    for (uint32_t i = 0; i < l->checks; i++)
        if (!adx_passes(&l->check[i], w->x))
            return true;
    return adx_walk_from(w, level + 1);
}

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
    for (; low <= high; low++) {
        w->x[l->var] = low;
        if (!adx_walk_on(w, level))
            return false;
    }
    return true;
}

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

// x: [vars] memory. False: visit ended it.
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
 *   offers  adx_given_relation adx_tensor_program adx_size_form adx_dim_range
 *           adx_begin_given adx_unbind_tensor adx_free_given adx_places_of
 * ========================================================================== */

ADX_SELDOM_BEGIN

// What the caller has given, for each name of the text; NULL or -1: not yet.
typedef struct adx_given_relation {
    size_t entries;
    int32_t **column;           // [arity][entries]
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

struct ad_tensor {
    ad_allocator memory;
    ad_tensor_options options;
    adx_tree tree;
    adx_tensor_given given;
    adx_arena arena;            // of the program
    adx_tensor_program *program;        // NULL: not bound
};

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

// from <= index < to of a dimension; an empty one has to = from.
static bool adx_dim_range(const ad_tensor *t, const adx_dim *d, int64_t *from,
                          int64_t *to)
{
    if (!adx_size_form(t, d->from, from) || !adx_size_form(t, d->to, to))
        return false;
    *to = *to < *from ? *from : *to;
    return true;
}

/* --- begin and end ------------------------------------------------------- */

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

static void adx_drop_relation(const ad_allocator *a, adx_given_relation *r,
                              uint32_t arity)
{
    for (uint32_t k = 0; r->column != NULL && k < arity; k++)
        adx_drop(a, r->column[k]);
    adx_drop(a, r->column);
    memset(r, 0, sizeof *r);
}

static void adx_unbind_tensor(ad_tensor *t)
{
    adx_free_arena(&t->arena);
    t->arena.status = ADREV_OK;
    t->program = NULL;
}

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

// What a name stands for, if it is of this kind; 0: it is not.
static uint32_t adx_named(const ad_tensor *t, const char *name,
                          adx_declared_kind kind)
{
    if (t == NULL || name == NULL)
        return 0;
    const adx_declared *d = adx_find_declared(&t->tree, name, strlen(name));
    return d == NULL || d->kind != kind ? 0 : d->of;
}

ADX_API ad_status ad_tensor_size(ad_tensor *t, const char *name, size_t n)
{
    uint32_t i = adx_named(t, name, ADX_NAMES_SIZE);
    if (i == 0 || n > INT32_MAX)
        return ADREV_ESHAPE;
    if (t->given.size[i] != (int64_t)n)
        adx_unbind_tensor(t);
    t->given.size[i] = (int64_t)n;
    return ADREV_OK;
}

static int32_t *adx_copy_ints(const ad_allocator *a, size_t n, const int from[])
{
    int32_t *to = (int32_t *)adx_take(a, n, sizeof *to);
    for (size_t i = 0; to != NULL && i < n; i++)
        to[i] = (int32_t)from[i];
    return to;
}

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

// Room for the columns, all NULL.
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
    uint32_t i = adx_named(t, name, ADX_NAMES_RELATION);
    if (i == 0 || column == NULL || entries > INT32_MAX)
        return ADREV_ESHAPE;
    uint32_t arity = t->tree.relation[i].arity;
    for (uint32_t k = 0; k < arity; k++)
        if (column[k] == NULL && entries > 0)
            return ADREV_ESHAPE;
    const adx_given_relation given = { entries, adx_new_columns(t, arity) };
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
    uint32_t i = adx_named(t, name, ADX_NAMES_RELATION);
    int64_t from;
    int64_t to;
    if (i == 0 || start == NULL || t->tree.relation[i].arity != 2
        || !adx_dim_range(t, &t->tree.dim[t->tree.relation[i].first], &from,
                          &to)
        || !adx_are_rows((size_t)(to - from), start))
        return ADREV_ESHAPE;
    size_t rows = (size_t)(to - from);
    size_t entries = (size_t)start[rows];
    if (column == NULL && entries > 0)
        return ADREV_ESHAPE;
    const adx_given_relation given = { entries, adx_new_columns(t, 2) };
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
    uint32_t i = adx_named(t, name, ADX_NAMES_MAP);
    int64_t from;
    int64_t to;
    if (i == 0 || !adx_dim_range(t, &t->tree.dim[t->tree.map[i].domain], &from,
                                 &to)
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

// How many strides an array has: all columns of a relation have one.
static uint32_t adx_places_of(const adx_tree *tree, const adx_tensor_array *a)
{
    const adx_dim *d = &tree->dim[a->first];
    return a->rank == 0 || d->relation == 0 ? a->rank
         : a->rank - tree->relation[d->relation].arity + 1;
}

ADX_API ad_status ad_tensor_layout(ad_tensor *t, const char *array,
                                   const ptrdiff_t stride[])
{
    uint32_t i = adx_named(t, array, ADX_NAMES_ARRAY);
    const adx_tensor_array *a = i == 0 ? NULL : &t->tree.array[i];
    if (a == NULL || stride == NULL || (a->formula != 0 && !a->out))
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

/* === tensor/syntax ==========================================================
 * From a text to its tree: declarations and formulas.
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

// One more dimension of the array, relation or map that is being declared.
static void adx_add_dim(adx_parser *p, uint32_t from, uint32_t to,
                        uint32_t relation, uint32_t column)
{
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(p->tree, dim) : 0;
    const adx_dim dim = { from, to, relation, column };
    if (i == 0)
        adx_stop(p, ADREV_ENOMEM);
    p->tree->dim[i] = dim;
}

// The array that a formula makes: its dimensions are the ranges of its indices.
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
        adx_stop(p, ADREV_ENOMEM);
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

// The name on the left side of a formula. Inputs and others cannot stand there.
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

static void adx_read_formula(adx_parser *p, bool out)
{
    adx_tree *tree = p->tree;
    uint32_t first = (uint32_t)tree->index_count;
    p->first = first;
    adx_spot name = adx_read_left_name(p);
    if (adx_took(p, '[')) {
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
        adx_stop(p, ADREV_ENOMEM);
    const adx_tensor_formula formula = {
        array, first, (uint32_t)tree->index_count - first, body
    };
    tree->formula[i] = formula;
}

/* --- declarations -------------------------------------------------------- */

// The relation at hand, as the first range of an array.
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

// "[", ranges, "]"; nothing at all if that is allowed. Returns how many
// dimensions they are, from *first on.
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
    } while (adx_took(p, ','));
    uint32_t rank = (uint32_t)tree->dim_count - *first;
    if (rank > ADX_BOUND_MOST)
        adx_wrong_at(p, p->spot.at, "more than %u indices in one place",
                     (uint32_t)ADX_BOUND_MOST);
    adx_expect(p, ']', "']'");
    return rank;
}

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

// The allocator of the options; NULL: there is none.
static const ad_allocator *adx_tensor_memory(const ad_tensor_options *options)
{
    const ad_allocator *a = options == NULL ? NULL : options->allocator;
    if (a != NULL && a->alloc != NULL && a->free != NULL)
        return a;
#ifdef ADREV_NO_STDLIB
    return NULL;
#else
    return &adx_libc;
#endif
}

static ad_status adx_new_tensor(ad_tensor **out, const char *text,
                                const ad_tensor_options *options,
                                ad_tensor_error *error)
{
    const ad_allocator *a = adx_tensor_memory(options);
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

static void adx_put_spot(const adx_tree_printer *k, adx_spot spot)
{
    k->write(k->tree->text + spot.at, spot.length, k->user);
}

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

static void adx_put_range(const adx_tree_printer *k, uint32_t from,
                          uint32_t to)
{
    if (!adx_is_zero_form(k->tree, from)) {
        adx_put_form(k, from);
        adx_put_string_of(k, ":");
    }
    adx_put_form(k, to);
}

// Indices that are bound together: they stand one after another.
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

static void adx_put_conditions(const adx_tree_printer *k, uint32_t child,
                               const char *sign)
{
    for (uint32_t i = child; i != 0; i = k->tree->node[i].next) {
        adx_put_string_of(k, i == child ? "" : sign);
        adx_put_condition(k, i);
    }
}

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

static void adx_put_within(const adx_tree_printer *k, uint32_t node, bool bare)
{
    adx_put_string_of(k, bare ? "" : "(");
    adx_put_node(k, node);
    adx_put_string_of(k, bare ? "" : ")");
}

// Operands, which must bind as tightly as this.
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

static void adx_put_read(const adx_tree_printer *k, const adx_tensor_node *n)
{
    adx_put_spot(k, k->tree->array[n->of].name);
    if (n->count == 0)
        return;
    adx_put_string_of(k, n->guarded ? "?[" : "[");
    adx_put_forms(k, n);
    adx_put_string_of(k, "]");
}

static void adx_put_power(const adx_tree_printer *k, const adx_tensor_node *n)
{
    int64_t power = n->power;
    adx_put_within(k, n->child, adx_binds(&k->tree->node[n->child])
                                    >= ADX_BINDS_ATOM);
    adx_put_string_of(k, power < 0 ? "^-" : "^");
    adx_put_natural(k, (uint64_t)(power < 0 ? -power : power));
}

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
    case ADX_TREE_NEG:
        adx_put_string_of(k, "-");
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

static ADX_UNUSED void adx_print_tree(const adx_tree *tree,
                                      ad_write_fn *write, void *user)
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
 * The numbers of a value that no point writes are 0. Who reads a value adds
 * where it is written to the conditions of its own set: so no operation is done
 * with a 0 that is there for this reason.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/nests
 *   offers  adx_access adx_tensor_term adx_value_kind ADX_VALUE_INPUT
 *           ADX_VALUE_TANGENT_IN ADX_VALUE_WEIGHT ADX_VALUE_SUM ADX_VALUE_ROW
 *           ADX_VALUE_PARTIAL ADX_VALUE_MOST adx_tensor_value adx_new_value
 *           adx_lay_out adx_finish_value adx_new_tensor_term adx_add_factor
 *           adx_place_form adx_all_written adx_mark_written adx_join_sets
 *           adx_all_gone adx_restrict
 * ========================================================================== */

ADX_SELDOM_BEGIN

// A number of a value: its indices are rows `row` ... of a set.
typedef struct adx_access {
    uint32_t value;
    uint32_t row;
} adx_access;

typedef struct adx_tensor_term {
    adx_set *set;
    uint32_t out;               // rows: the indices of what is written
    adx_access factor[3];
    uint32_t factors;
    ad_real k;                  // times this
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
    ADX_VALUE_ROW,              // op of the factors of one term
    ADX_VALUE_PARTIAL,          // its partial with respect to argument `which`
    ADX_VALUE_MOST              // the largest, or least, factor of all points
} adx_value_kind;

typedef struct adx_tensor_value {
    adx_value_kind kind;
    uint32_t order;             // of an input, a tangent, a weight
    uint32_t op;
    uint32_t which;
    uint32_t dims;
    int64_t *low;               // [dims] of indices
    int64_t *extent;
    ptrdiff_t *stride;
    uint64_t size;              // numbers
    uint64_t span;              // of memory
    ptrdiff_t first;            // from the lowest place to the least indices
    adx_tensor_term *term;
    uint32_t terms, room;
    bool fixed;                 // has no derivative
    bool result;                // the caller has an array for it
    bool full;                  // all numbers are written
    bool known;                 // `full` or `support` says which
    bool cleared;               // all numbers are read, written or not
    bool once;                  // each number is written by one point
    const adx_bitmap *support;  // by adx_place_in; NULL: all
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
    bool curved;                // a second derivative is not known
    adx_int_table **map;            // of the tree's maps
    adx_int_table **column;         // of its relations: from column_of[r] on
    uint32_t *column_of;
    uint64_t picks;             // of the largest value that is a most
    uint32_t vars;              // of the largest set
};

/* --- values -------------------------------------------------------------- */

// Room for one value more. Returns its number; 0: no memory.
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
    return a->status == ADREV_OK ? p->values++ : 0;
}

// Numbers one behind the other, the last index fastest. False: too many.
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
        uint64_t step = v->stride[i] < 0 ? 0 - (uint64_t)v->stride[i]
                                         : (uint64_t)v->stride[i];
        if (v->extent[i] > 1
            && step > ((uint64_t)1 << 50) / (uint64_t)v->extent[i]) {
            adx_arena_fail(&t->arena, ADREV_ELIMIT);
            return false;
        }
        if (v->extent[i] <= 1) {        // never taken, and any number
            v->stride[i] = 0;
            continue;
        }
        span += (uint64_t)(v->extent[i] - 1) * step;
        if (v->stride[i] < 0)
            v->first -= (v->extent[i] - 1) * v->stride[i];
    }
    v->span = span;
    return true;
}

// The value can be computed from here on.
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

static adx_tensor_term *adx_new_tensor_term(ad_tensor *t, uint32_t value,
                                     const adx_set *set, uint32_t out, ad_real k)
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

static void adx_add_factor(adx_tensor_term *term, adx_access from)
{
    if (term != NULL)
        term->factor[term->factors++] = from;
}

/* --- where numbers are --------------------------------------------------- */

// The form of a number's place: by strides in memory, or else among `size`.
static void adx_place_form(const adx_set *s, const adx_tensor_value *v, uint32_t row,
                           bool memory, int64_t form[])
{
    int64_t step = 1;
    memset(form, 0, s->width * sizeof *form);
    for (uint32_t i = v->dims; i-- > 0;) {
        int64_t by = memory ? v->stride[i] : step;
        adx_add_multiple(s, form, by, adx_form_of(s, row + i));
        form[0] = adx_whole_add(s->arena, form[0], -by, v->low[i]);
        step *= v->extent[i];
    }
}

typedef struct adx_marking {
    adx_bitmap *bits;
    adx_sparse_form place;
    int64_t step;               // from one value of the innermost variable to
    uint32_t var;               // the next
} adx_marking;

static bool adx_mark_points(void *user, const int64_t x[], uint32_t var,
                            int64_t count)
{
    const adx_marking *m = (const adx_marking *)user;
    int64_t at = adx_sparse_at(&m->place, x);
    int64_t step = 0;
    for (uint32_t i = 0; var != UINT32_MAX && i < m->place.n; i++)
        if (m->place.var[i] == var)
            step = m->place.k[i];
    for (int64_t i = 0; i < count; i++, at += step)
        if (at >= 0 && (uint64_t)at < m->bits->n)
            adx_set_bit(m->bits, (uint64_t)at);
    return true;
}

// Marks what a form is at all points of a set. False: no memory.
static bool adx_mark_form(const adx_set *s, const int64_t form[],
                          adx_bitmap *bits)
{
    adx_marking m = { .bits = bits };
    int64_t *x = ADX_GET(s->arena, s->vars, int64_t);
    const adx_nest *nest = adx_make_nest(s, UINT32_MAX);
    if (x == NULL || nest == NULL
        || !adx_make_sparse_form(s, form, UINT32_MAX, &m.place))
        return false;
    adx_walk_nest(nest, x, adx_mark_points, &m);
    return true;
}

/* --- which numbers are written ------------------------------------------- */

// Whether one term writes all numbers: without the variables that are summed
// its set is a box, as large as the value.
static bool adx_term_is_full(const adx_tensor_value *v, const adx_tensor_term *term)
{
    adx_set *s = adx_copy_set(term->set);
    if (s == NULL)
        return false;
    bool *keep = ADX_GET(s->arena, s->width + 64, bool);
    if (keep == NULL)
        return false;
    for (uint32_t i = 0; i < v->dims; i++) {
        const int64_t *form = adx_form_of(s, term->out + i);
        uint32_t count;
        uint32_t var = 0;
        adx_divisor_of(s, form, &count, &var);
        if (count > 1 || (count == 1 && !adx_is_unit(form[1 + var])))
            return false;
        if (count == 1)
            keep[var] = true;
    }
    return adx_project(s, keep) && adx_box_points(s) == v->size;
}

// Whether all numbers are written, as far as that is easily seen.
static bool adx_all_written(ad_tensor *t, uint32_t value)
{
    adx_tensor_value *v = &t->program->value[value];
    if (!v->known) {
        v->known = true;
        v->full = v->kind <= ADX_VALUE_WEIGHT || v->size == 0;
        for (uint32_t i = 0; i < v->terms && !v->full; i++)
            v->full = adx_term_is_full(v, &v->term[i]);
    }
    return v->full;
}

// Which numbers are written. NULL: no memory.
static adx_bitmap *adx_mark_written(adx_arena *a, const adx_tensor_value *v)
{
    adx_bitmap *bits = adx_new_bitmap(a, v->size);
    for (uint32_t i = 0; i < v->terms && bits != NULL; i++) {
        adx_set s = *v->term[i].set;
        s.arena = a;
        int64_t *form = ADX_GET(a, s.width, int64_t);
        if (form == NULL)
            return NULL;
        adx_place_form(&s, v, v->term[i].out, false, form);
        if (!adx_mark_form(&s, form, bits))
            return NULL;
    }
    return bits;
}

// Finds out which numbers are written. False: no memory.
static bool adx_find_support(ad_tensor *t, uint32_t value)
{
    if (adx_all_written(t, value) || t->program->value[value].support != NULL)
        return true;
    adx_bitmap *bits = adx_mark_written(&t->arena, &t->program->value[value]);
    adx_tensor_value *v = &t->program->value[value];
    v->support = bits;
    v->full = bits != NULL && bits->set == v->size;
    return bits != NULL;
}

// A set whose conditions are added to another: variable v of it becomes var[v].
typedef struct adx_joining {
    adx_set *to;
    const adx_set *from;
    uint32_t *var;
} adx_joining;

// A row of the other set. UINT32_MAX: no memory.
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

// Adds the conditions of one set to another, for the same indices: rows `mine`
// are to be rows `yours` of `from`. Rows `kept` of `from` come with them, from
// row *first on. False: no memory.
static bool adx_join_sets(adx_set *s, uint32_t mine, const adx_set *from,
                          uint32_t yours, uint32_t dims, uint32_t kept,
                          uint32_t count, uint32_t *first)
{
    const adx_joining j = { s, from, ADX_GET(s->arena, from->vars, uint32_t) };
    if (j.var == NULL)
        return false;
    for (uint32_t v = 0; v < from->vars; v++)
        if (!from->gone[v]) {
            j.var[v] = adx_new_var(s, from->low[v], from->high[v]);
            if (j.var[v] == UINT32_MAX)
                return false;
        }
    if (!adx_join_conditions(&j))
        return false;
    *first = s->rows;
    for (uint32_t i = 0; i < count; i++)
        if (adx_join_row(&j, ADX_ROW_FORM, kept + i) == UINT32_MAX)
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

// Adds that this number of a value is written. False: no memory.
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
    if (!adx_find_support(t, to.value))
        return false;
    if (v->full)
        return true;
    uint32_t r = adx_new_row(s, ADX_ROW_BIT);
    if (r == UINT32_MAX)
        return false;
    s->row[r].bits = v->support;
    adx_place_form(s, v, to.row, false, adx_form_of(s, r));
    return true;
}

ADX_SELDOM_END

/* === tensor/sharing =========================================================
 * What is equal is computed once. A value has a key: a list of numbers which is
 * the same for values that are made of the same terms, whatever the variables
 * of their sets are called. A value whose key is known already is the earlier
 * one; a result of the caller's, which has an array of its own, becomes a copy
 * of it. Equal terms of one sum are counted: e + e is 2*e.
 *
 *   needs   tensor/api tensor/arena tensor/sets tensor/programs
 *   offers  adx_value_like adx_tensor_value_at adx_all_indices adx_writes_once
 *           adx_complete_value adx_constant_value
 * ========================================================================== */

ADX_SELDOM_BEGIN

// A value with the indices of another.
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
    v->size = of->size;
    v->span = of->span;
    v->first = of->first;
    return i;
}

static adx_tensor_value *adx_tensor_value_at(const ad_tensor *t, uint32_t value)
{
    return &t->program->value[value];
}

// The set of all indices of a value; rows are its indices.
static adx_set *adx_all_indices(ad_tensor *t, const adx_tensor_value *v)
{
    adx_set *s = adx_new_set(&t->arena);
    for (uint32_t i = 0; s != NULL && i < v->dims; i++)
        adx_new_var(s, v->low[i], v->low[i] + v->extent[i] - 1);
    for (uint32_t i = 0; s != NULL && i < v->dims; i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r != UINT32_MAX)
            adx_form_of(s, r)[1 + i] = 1;
    }
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
} adx_key_writer;

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

static void adx_put_key_real(adx_key_writer *w, ad_real k)
{
    int64_t bits = 0;
    memcpy(&bits, &k, sizeof k);
    adx_put_key(w, bits);
}

// A form: its variables get names in the order in which they are met.
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

static void adx_put_key_access(adx_key_writer *w, const ad_tensor *t,
                               adx_access from)
{
    adx_put_key(w, from.value);
    for (uint32_t d = 0; d < t->program->value[from.value].dims; d++)
        adx_put_key_form(w, from.row + d);
}

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

// A term without its constant. Two factors of a product have an order.
static void adx_put_key_term(adx_key_writer *w, const ad_tensor *t,
                             const adx_tensor_value *v,
                             const adx_tensor_term *term)
{
    bool turn = v->kind == ADX_VALUE_SUM && term->factors == 2
             && term->factor[0].value > term->factor[1].value;
    adx_put_key(w, term->factors);
    for (uint32_t d = 0; d < v->dims; d++)
        adx_put_key_form(w, term->out + d);
    for (uint32_t f = 0; f < term->factors; f++)
        adx_put_key_access(w, t, term->factor[turn ? 1 - f : f]);
    adx_put_key(w, term->most);
    if (term->most != 0) {
        const adx_access at = { term->most, term->at };
        adx_put_key_access(w, t, at);
        adx_put_key_access(w, t, term->picked);
    }
    adx_put_key_set(w);
}

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

static bool adx_same_key(const adx_value_key *a, const adx_value_key *b)
{
    return a->hash == b->hash && a->n == b->n
        && memcmp(a->number, b->number, a->n * sizeof *a->number) == 0;
}

// A term's part of a key; its constant too, if `whole`.
static void adx_write_term(adx_key_writer *w, const ad_tensor *t,
                           const adx_tensor_value *v,
                           const adx_tensor_term *term, bool whole)
{
    w->set = term->set;
    w->names = 0;
    memset(w->name, 0, term->set->width * sizeof *w->name);
    adx_put_key_term(w, t, v, term);
    if (whole)
        adx_put_key_real(w, term->k);
}

// The key of a value, or that of one of its terms. False: no memory.
static bool adx_make_value_key(ad_tensor *t, const adx_tensor_value *v,
                         const adx_tensor_term *only, adx_value_key *key)
{
    uint32_t width = only != NULL ? only->set->width : 1;
    adx_key_writer w = { 0 };
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
// every variable has an index of its own.
static bool adx_writes_once(const adx_tensor_value *v,
                            const adx_tensor_term *term)
{
    const adx_set *s = term->set;
    uint32_t own = 0;
    uint32_t live = 0;
    for (uint32_t i = 0; i < s->vars; i++)
        live += !s->gone[i];
    for (uint32_t i = 0; i < v->dims; i++) {
        uint32_t count;
        uint32_t var = 0;
        adx_divisor_of(s, adx_form_of(s, term->out + i), &count, &var);
        bool again = count != 1;
        for (uint32_t j = 0; j < i && !again; j++)
            again = adx_form_of(s, term->out + j)[1 + var] != 0;
        own += !again;
    }
    return own == live;
}

// All numbers of another value with the same indices, times k, as a term.
static void adx_copy_term(ad_tensor *t, uint32_t to, uint32_t from, ad_real k)
{
    const adx_access all = { from, 0 };
    adx_set *s = adx_all_indices(t, adx_tensor_value_at(t, from));
    if (s != NULL && adx_restrict(t, &s, all) && !s->empty)
        adx_add_factor(adx_new_tensor_term(t, to, s, 0, k), all);
}

// Term i stands for all that are equal to it; k: the sum of their constants. A
// sum over points is multiplied when it is complete.
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

// The first term that is equal to term i, by a table of `room` keys.
static uint32_t adx_equal_term(const adx_value_key key[], uint32_t slot[],
                               uint32_t room, uint32_t i)
{
    uint32_t at = (uint32_t)key[i].hash & (room - 1);
    for (; slot[at] != 0; at = (at + 1) & (room - 1))
        if (adx_same_key(&key[slot[at] - 1], &key[i]))
            return slot[at] - 1;
    slot[at] = i + 1;
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
    uint32_t *slot = ADX_GET(&t->arena, room, uint32_t);
    uint32_t *first = ADX_GET(&t->arena, n, uint32_t);
    ad_real *k = ADX_GET(&t->arena, n, ad_real);
    if (key == NULL || slot == NULL || first == NULL || k == NULL)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (!adx_make_value_key(t, v, &v->term[i], &key[i]))
            return;
        first[i] = v->term[i].most != 0 ? i
                 : adx_equal_term(key, slot, room, i);
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

// The place of a key, or a free one.
static uint32_t adx_shared_place(const adx_shared_values *s,
                                 const adx_value_key *key)
{
    uint32_t at = (uint32_t)key->hash & (s->room - 1);
    while (s->value[at] != 0 && !adx_same_key(&s->key[at], key))
        at = (at + 1) & (s->room - 1);
    return at;
}

// A table of twice the size, with what the old one has. NULL: no memory.
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

// The value with the key of this one, which is noted if there is none yet.
// 0: no memory.
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

// A value of one number, which is a constant. 0: no memory.
static uint32_t adx_constant_value(ad_tensor *t, ad_real k)
{
    adx_set *s = adx_new_set(&t->arena);
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
 * a sum of sums is one list of terms. What is multiplied or given to a function,
 * and is no number of an array, becomes a value of its own, at those points
 * only where it is needed, and along those indices only that it mentions.
 *
 * Reads are proved to be inside here, for the sizes that are given.
 *
 *   needs   tensor/api tensor/tree tensor/messages tensor/arena tensor/sets
 *           tensor/nests tensor/binding
 *   offers  adx_lowering adx_node_of adx_lowered adx_misfit adx_find_outside
 *           adx_say_signed adx_outside adx_lower_form adx_bind_indices
 *           adx_forget_indices
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
} adx_lowering;

static const adx_tensor_node *adx_node_of(const adx_lowering *k, uint32_t node)
{
    return &k->t->tree.node[node];
}

static bool adx_lowered(const adx_lowering *k)
{
    return k->t->arena.status == ADREV_OK;
}

// Says what does not fit.
static void adx_misfit(adx_lowering *k, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (adx_lowered(k) && k->error != NULL)
        adx_explain_at(k->error, &k->t->tree, at, format, &args);
    va_end(args);
    adx_arena_fail(&k->t->arena, ADREV_ESHAPE);
}

/* --- reads that are outside ---------------------------------------------- */

typedef struct adx_witness {
    int64_t *x;
    bool found;
} adx_witness;

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

// A point of a set at which a row is below, or above, a bound. NULL: there is
// none, or no memory.
static int64_t *adx_find_outside(const adx_set *s, uint32_t row, int64_t bound,
                                 bool above)
{
    const int64_t *form = adx_form_of(s, row);
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
    adx_witness w = { ADX_GET(s->arena, c->vars, int64_t), false };
    const adx_nest *nest = c->empty ? NULL : adx_make_nest(c, UINT32_MAX);
    if (w.x == NULL || nest == NULL)
        return NULL;
    adx_walk_nest(nest, w.x, adx_take_witness, &w);
    if (!w.found)
        return NULL;
    // of variables that were replaced: what the rows of c say of all indices
    int64_t *value = ADX_GET(s->arena, c->rows, int64_t);
    for (uint32_t i = 0; value != NULL && i < c->rows; i++) {
        value[i] = adx_form_of(c, i)[0];
        for (uint32_t v = 0; v < c->vars; v++)
            value[i] += adx_form_of(c, i)[1 + v] * (c->gone[v] ? 0 : w.x[v]);
    }
    return value;
}

static void adx_say_signed(adx_saying *s, int64_t v)
{
    if (v < 0)
        adx_say_string(s, "-");
    adx_say_whole(s, (uint32_t)(v < 0 ? -v : v));
}

// "i=0, j=1"
static void adx_say_indices(const adx_lowering *k, adx_saying *s,
                            const int64_t value[])
{
    const adx_tree *tree = &k->t->tree;
    bool any = false;
    for (uint32_t i = 1; i < tree->index_count; i++)
        if (k->row_of[i] != ADX_NOT_YET) {
            adx_say_string(s, any ? ", " : " at ");
            any = true;
            adx_say_spot(s, tree, tree->index[i].name);
            adx_say_string(s, "=");
            adx_say_signed(s, value[k->row_of[i]]);
        }
}

// "x[i-j] is x[-1] at i=0, j=1; x?[i-j] reads 0 there"
static void adx_outside(adx_lowering *k, const adx_tensor_node *n,
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

/* --- forms --------------------------------------------------------------- */

static uint32_t adx_lower_form(adx_lowering *k, adx_set *s, uint32_t form);

// The value of a map at the form of a row, as a variable.
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

// A map of a form: the form must be in its range.
static uint32_t adx_lower_map(adx_lowering *k, adx_set *s,
                              const adx_multiple *m, size_t at)
{
    adx_int_table *table = k->t->program->map[m->of];
    uint32_t argument = adx_lower_form(k, s, m->argument);
    if (argument == UINT32_MAX || !adx_lowered(k))
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

// A form of the text as a row. UINT32_MAX: it failed.
static uint32_t adx_lower_form(adx_lowering *k, adx_set *s, uint32_t form)
{
    const adx_affine *f = &k->t->tree.form[form];
    uint32_t to = adx_new_row(s, ADX_ROW_FORM);
    if (to == UINT32_MAX)
        return to;
    adx_form_of(s, to)[0] = f->constant;
    for (uint32_t i = 0; i < f->count && adx_lowered(k); i++) {
        const adx_multiple *m = &k->t->tree.multiple[f->first + i];
        uint32_t row = m->kind == ADX_OF_INDEX ? k->row_of[m->of]
                     : m->kind == ADX_OF_MAP ? adx_lower_map(k, s, m, f->at)
                     : UINT32_MAX;
        if (m->kind == ADX_OF_SIZE)
            adx_form_of(s, to)[0] = adx_whole_add(s->arena,
                adx_form_of(s, to)[0], m->k, k->t->given.size[m->of]);
        else if (row != UINT32_MAX)
            adx_add_multiple(s, adx_form_of(s, to), m->k, adx_form_of(s, row));
    }
    return adx_lowered(k) ? to : UINT32_MAX;
}

/* --- indices ------------------------------------------------------------- */

// Indices become variables, and rows one behind the other; the first of them.
static uint32_t adx_bind_indices(adx_lowering *k, adx_set *s, uint32_t first,
                                 uint32_t count)
{
    uint32_t vars = s->vars;
    uint32_t rows = s->rows;
    for (uint32_t i = 0; i < count; i++) {
        const adx_tensor_index *x = &k->t->tree.index[first + i];
        int64_t from = 0;
        int64_t to = 0;
        if (!adx_size_form(k->t, x->from, &from)
            || !adx_size_form(k->t, x->to, &to))
            adx_arena_fail(&k->t->arena, ADREV_ESHAPE);
        adx_new_var(s, from, to - 1);
    }
    for (uint32_t i = 0; i < count && adx_lowered(k); i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r == UINT32_MAX)
            break;
        adx_form_of(s, r)[1 + vars + i] = 1;
        k->row_of[first + i] = r;
    }
    return rows;
}

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
 * have too many parts.
 *
 *   needs   tensor/tree tensor/arena tensor/sets tensor/nests tensor/binding
 *           tensor/lower
 *   offers  adx_set_pieces adx_add_set_piece adx_entry_of adx_lower_list
 *           adx_where_by_bits adx_set_where
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_PIECES_MOST 12

typedef struct adx_set_pieces {
    adx_set *set[ADX_PIECES_MOST];
    uint32_t n;
} adx_set_pieces;

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

// The set with sign*form + c as a condition.
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
            adx_add_set_piece(k, to, adx_with_row(k, s, n->of, ADX_ROW_SIGN, sign,
                                              -1));
}

// Where all of the children from `node` on are true.
static void adx_split_all(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to)
{
    adx_set_pieces *now = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (now == NULL)
        return;
    adx_add_set_piece(k, now, adx_copy_set(s));
    for (; node != 0 && adx_lowered(k); node = adx_node_of(k, node)->next) {
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

// Where one of the children from `node` on is true, and none before it.
static void adx_split_any(adx_lowering *k, const adx_set *s, uint32_t node,
                          bool negated, adx_set_pieces *to)
{
    adx_set_pieces *rest = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (rest == NULL)
        return;
    adx_add_set_piece(k, rest, adx_copy_set(s));
    for (; node != 0 && adx_lowered(k); node = adx_node_of(k, node)->next) {
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

// The entry of a relation with these columns, rows row[arity], as a row;
// UINT32_MAX: no memory.
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

// Rows for the forms of a read or a membership. False: it failed.
static bool adx_lower_list(adx_lowering *k, adx_set *s,
                           const adx_tensor_node *n, uint32_t row[])
{
    for (uint32_t i = 0; i < n->count && adx_lowered(k); i++)
        row[i] = adx_lower_form(k, s, k->t->tree.list[n->first + i]);
    return adx_lowered(k);
}

// Bits for the values of the indices that a condition mentions.
typedef struct adx_grid {
    uint32_t index[ADX_BOUND_MOST];
    uint32_t n;
    int64_t low[ADX_BOUND_MOST];
    int64_t extent[ADX_BOUND_MOST];
} adx_grid;

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

// The indices that are bound around a condition and that it mentions.
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
static bool adx_is_true_for_some(adx_lowering *k, uint32_t index, uint32_t count,
                                 uint32_t node, int64_t value[])
{
    int64_t from = 0;
    int64_t to = 0;
    if (count == 0)
        return adx_is_true_at(k, node, value);
    adx_size_form(k->t, k->t->tree.index[index].from, &from);
    adx_size_form(k->t, k->t->tree.index[index].to, &to);
    for (int64_t i = from; i < to && adx_lowered(k); i++) {
        value[index] = i;
        if (adx_is_true_for_some(k, index + 1, count - 1, node, value))
            return true;
    }
    return false;
}

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

// Ranges of the indices of a grid. Returns how many points it has; UINT64_MAX:
// too many.
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

// The bits of a grid at which a condition is true. NULL: no memory.
static const adx_bitmap *adx_mark_grid(adx_lowering *k, adx_grid *g,
                                       uint32_t node)
{
    adx_arena *a = &k->t->arena;
    uint64_t size = adx_measure_grid(k, g);
    int64_t *value = ADX_GET(a, k->t->tree.index_count, int64_t);
    adx_bitmap *bits = value == NULL ? NULL : adx_new_bitmap(a, size);
    for (uint64_t at = 0; bits != NULL && at < size && adx_lowered(k); at++) {
        uint64_t rest = at;
        for (uint32_t i = g->n; i-- > 0;) {
            value[g->index[i]] = g->low[i]
                               + (int64_t)(rest % (uint64_t)g->extent[i]);
            rest /= (uint64_t)g->extent[i];
        }
        if (adx_is_true_at(k, node, value))
            adx_set_bit(bits, at);
    }
    return adx_lowered(k) ? bits : NULL;
}

// A condition by bits.
static void adx_split_bits(adx_lowering *k, const adx_set *s, uint32_t node,
                           bool negated, adx_set_pieces *to)
{
    adx_grid *g = ADX_GET(&k->t->arena, 1, adx_grid);
    if (g == NULL)
        return;
    adx_find_grid(k, g, node);
    const adx_bitmap *bits = adx_mark_grid(k, g, node);
    adx_set *c = bits == NULL ? NULL : adx_copy_set(s);
    uint32_t r = c == NULL ? UINT32_MAX
               : adx_new_row(c, negated ? ADX_ROW_NO_BIT : ADX_ROW_BIT);
    if (r == UINT32_MAX)
        return;
    int64_t *form = adx_form_of(c, r);
    c->row[r].bits = bits;
    for (uint32_t j = 0; j < g->n; j++) {
        for (uint32_t v = 0; v <= c->vars; v++)
            form[v] *= g->extent[j];
        adx_add_multiple(c, form, 1, adx_form_of(c, k->row_of[g->index[j]]));
        form[0] -= g->low[j];
    }
    adx_simplify_set(c);
    adx_add_set_piece(k, to, c);
}

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
    if (!adx_lowered(k))
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

// The part of a set where a condition is true, by bits. NULL: no memory.
static adx_set_pieces *adx_where_by_bits(adx_lowering *k, const adx_set *s,
                                         uint32_t node)
{
    adx_set_pieces *to = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (to != NULL)
        adx_split_bits(k, s, node, false, to);
    return to;
}

// The disjoint parts of a set where a condition is true. NULL: no memory.
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
 * the factors are looked at, each once (dynamic programming).
 *
 *   needs   tensor/arena
 *   offers  ADX_PATH_MOST adx_product_path adx_path_vars adx_path_whole
 *           adx_path_after adx_path_at adx_find_path
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_PATH_MOST 10        /* factors; 3^10 pairs of subsets */

// The cheapest way to the product of a subset of the factors.
typedef struct adx_path_step {
    double muls;
    double all;                 // operations
    uint32_t one;               // of the two subsets that are multiplied last
} adx_path_step;

// A set of variables is a number, with a bit for each that is not gone.
typedef struct adx_product_path {
    uint32_t factors;
    uint64_t has[ADX_PATH_MOST];        // the variables of each factor
    uint64_t written;           // those of what is written
    uint64_t live;              // all
    uint32_t vars;
    double extent[64];
    adx_path_step *step;        // of each subset
} adx_product_path;

// Points of a box of variables.
static double adx_path_points(const adx_product_path *p, uint64_t vars)
{
    double n = 1;
    for (uint32_t v = 0; v < p->vars; v++)
        n *= vars >> v & 1 ? p->extent[v] : 1;
    return n;
}

static uint64_t adx_path_vars(const adx_product_path *p, uint32_t subset)
{
    uint64_t vars = 0;
    for (uint32_t i = 0; i < p->factors; i++)
        vars |= subset >> i & 1 ? p->has[i] : 0;
    return vars;
}

static uint32_t adx_path_whole(const adx_product_path *p)
{
    return ((uint32_t)1 << p->factors) - 1;
}

// The variables that a product of these factors still has: others are summed.
static uint64_t adx_path_after(const adx_product_path *p, uint32_t subset)
{
    uint32_t rest = adx_path_whole(p) & ~subset;
    return adx_path_vars(p, subset)
         & (p->written | adx_path_vars(p, rest));
}

// The variables of the points at which two products are multiplied; in the end
// also those that no factor has.
static uint64_t adx_path_at(const adx_product_path *p, uint32_t one,
                            uint32_t other)
{
    uint64_t none = p->live & ~adx_path_vars(p, adx_path_whole(p));
    return adx_path_after(p, one) | adx_path_after(p, other)
         | ((one | other) == adx_path_whole(p) ? p->written | none : 0);
}

static bool adx_is_cheaper(const adx_path_step *one, const adx_path_step *other)
{
    return one->muls < other->muls
        || (one->muls == other->muls && one->all < other->all);
}

static void adx_find_step(adx_product_path *p, uint32_t subset)
{
    adx_path_step best = { 1e300, 1e300, 0 };
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
        const adx_path_step to = {
            p->step[one].muls + p->step[other].muls + points,
            p->step[one].all + p->step[other].all + 2 * points - result, one
        };
        if (adx_is_cheaper(&to, &best))
            best = to;
    }
    p->step[subset] = best;
}

// As the text has it: one factor after the other, then all sums at once.
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
    p->step = ADX_GET(a, (size_t)1 << p->factors, adx_path_step);
    for (uint32_t s = 1; p->step != NULL && s <= adx_path_whole(p); s++)
        adx_find_step(p, s);
    return p->step != NULL
        && p->step[adx_path_whole(p)].all < adx_written_cost(p);
}

ADX_SELDOM_END

/* === tensor/formulas ========================================================
 * From expressions to terms: reads, products, functions, and the values that
 * hold parts of an expression.
 *
 *   needs   tensor/tree tensor/arena tensor/sets tensor/nests tensor/binding
 *           tensor/programs tensor/sharing tensor/lower tensor/splits
 *           tensor/paths
 *   offers  adx_lower_formulas
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Where a part of an expression goes: numbers of a value, by rows of sets.
typedef struct adx_target {
    uint32_t value;
    uint32_t out;
} adx_target;

static void adx_lower_sum(adx_lowering *k, adx_target to, const adx_set *s,
                          uint32_t node, ad_real times);

// The parts of a set where a condition is true; node 0: all of it.
static const adx_set_pieces *adx_parts_of(adx_lowering *k, adx_set *s,
                                          uint32_t node)
{
    if (node != 0)
        return adx_set_where(k, s, node);
    adx_set_pieces *all = ADX_GET(&k->t->arena, 1, adx_set_pieces);
    if (all != NULL)
        adx_add_set_piece(k, all, s);
    return all;
}

/* --- what is mentioned --------------------------------------------------- */

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

// Marks the variables of s that an expression, or a condition, depends on.
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

/* --- values for parts ---------------------------------------------------- */

// Variables whose values follow from those of others by a map: memory need not
// have room for all of their values.
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
        bool free = count == 1 && argument[1 + v] == 0;
        for (uint32_t i = 0; free && i < s->vars; i++)
            free = argument[1 + i] == 0 || !determined[i];
        if (free)
            determined[v] = true;
    }
}

// A value with a number for each point of a set, which is simplified. Rows for
// its indices are added to the set.
static adx_target adx_new_part(adx_lowering *k, adx_value_kind kind, adx_set *s)
{
    adx_arena *a = &k->t->arena;
    bool *determined = ADX_GET(a, s->width, bool);
    adx_target to = { 0, s->rows };
    uint32_t dims = 0;
    if (determined == NULL)
        return to;
    adx_find_determined(s, determined);
    for (uint32_t v = 0; v < s->vars; v++)
        dims += !s->gone[v] && !determined[v];
    to.value = adx_new_value(k->t, kind, dims);
    dims = 0;
    for (uint32_t v = 0; v < s->vars && adx_lowered(k); v++) {
        adx_tensor_value *part = &k->t->program->value[to.value];
        if (s->gone[v] || determined[v])
            continue;
        part->low[dims] = s->low[v];
        part->extent[dims++] = s->high[v] - s->low[v] + 1;
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r != UINT32_MAX)
            adx_form_of(s, r)[1 + v] = 1;
    }
    if (adx_lowered(k))
        adx_lay_out(k->t, &k->t->program->value[to.value], NULL);
    return to;
}

// The set in which a part is computed: without variables that it does not
// mention, if that is exact. Both have the same variables.
static adx_set *adx_set_of_part(adx_lowering *k, adx_set *s,
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

// The number of a part at the points of s: rows of the same variables.
static adx_access adx_read_part(adx_set *s, const adx_set *of, adx_target part,
                                uint32_t dims)
{
    adx_access to = { part.value, s->rows };
    for (uint32_t i = 0; i < dims; i++) {
        uint32_t r = adx_new_row(s, ADX_ROW_FORM);
        if (r == UINT32_MAX)
            break;
        for (uint32_t v = 0; v <= s->vars && v <= of->vars; v++)
            adx_form_of(s, r)[v] = adx_form_of(of, part.out + i)[v];
    }
    return to;
}

static uint32_t adx_dims_of(const adx_lowering *k, uint32_t value)
{
    return k->t->program->value[value].dims;
}

static void adx_lower_into(adx_lowering *k, adx_target to, adx_set *s,
                           uint32_t node);
static void adx_lower_factors(adx_lowering *k, adx_target to, const adx_set *s,
                              const uint32_t node[], uint32_t nodes,
                              ad_real times);

// Whether a condition of one set, of which the other was made, is also in that.
static bool adx_keeps_condition(const adx_set *to, const adx_set *s, uint32_t r)
{
    const adx_set_row *row = &s->row[r];
    bool found = false;
    for (uint32_t q = 0; q < to->rows && !found; q++)
        found = to->row[q].kind == row->kind && to->row[q].table == row->table
             && to->row[q].bits == row->bits
             && memcmp(adx_form_of(to, q), adx_form_of(s, r),
                       (1 + s->vars) * sizeof *s->k) == 0;
    return found;
}

// Whether a term has no more conditions than a set that it was made in.
static bool adx_covers(const adx_tensor_term *term, const adx_set *s)
{
    int more = 0;
    bool same = s->vars <= term->set->vars;
    for (uint32_t r = 0; r < s->rows && same; r++)
        if (s->row[r].kind > ADX_ROW_FORM) {
            same = same && adx_keeps_condition(term->set, s, r);
            more--;
        }
    for (uint32_t r = 0; r < term->set->rows; r++)
        more += term->set->row[r].kind > ADX_ROW_FORM;
    same = same && more == 0;
    for (uint32_t v = 0; v < s->vars && same; v++)
        same = s->low[v] == term->set->low[v] && s->high[v] == term->set->high[v]
            && s->gone[v] == term->set->gone[v];
    return same;
}

// Whether a part is written at all points of the set that it is made in.
static bool adx_is_everywhere_in(const adx_lowering *k, uint32_t part,
                                 const adx_set *of)
{
    const adx_tensor_value *v = &k->t->program->value[part];
    bool all = v->kind == ADX_VALUE_MOST;
    for (uint32_t i = 0; i < v->terms && !all; i++)
        all = adx_covers(&v->term[i], of);
    return all;
}

// A product of expressions as a value; fixed: without a derivative. *all: whether
// it is written at all points of its set; may be NULL.
static adx_access adx_make_part(adx_lowering *k, adx_set *s,
                                const uint32_t node[], uint32_t nodes,
                                bool fixed, bool *all)
{
    const adx_access none = { 0, 0 };
    adx_set *c = adx_set_of_part(k, s, node, nodes);
    if (c == NULL)
        return none;
    adx_target part = adx_new_part(k, ADX_VALUE_SUM, c);
    if (!adx_lowered(k))
        return none;
    adx_set *reading = adx_copy_set(c);     // rows of the indices
    if (reading == NULL)
        return none;
    if (nodes == 1)
        adx_lower_into(k, part, c, node[0]);
    else
        adx_lower_factors(k, part, c, node, nodes, 1);
    if (!adx_lowered(k))
        return none;
    k->t->program->value[part.value].fixed = fixed;
    if (all != NULL)
        *all = adx_is_everywhere_in(k, part.value, reading);
    part.value = adx_complete_value(k->t, part.value);
    return adx_read_part(s, reading, part, adx_dims_of(k, part.value));
}

// The same where it is needed everywhere, 0 or not.
static adx_access adx_part_of(adx_lowering *k, adx_set *s,
                              const uint32_t node[], uint32_t nodes, bool fixed)
{
    return adx_make_part(k, s, node, nodes, fixed, NULL);
}

// The same as a factor.
static adx_access adx_factor_part(adx_lowering *k, adx_set **s,
                                  const uint32_t node[], uint32_t nodes,
                                  bool fixed)
{
    bool all = false;
    adx_access part = adx_make_part(k, *s, node, nodes, fixed, &all);
    if (adx_lowered(k) && !all)
        adx_restrict(k->t, s, part);
    return part;
}

/* --- reads --------------------------------------------------------------- */

// The indices of a read as rows, and their bounds: as conditions if the read is
// guarded. False: it failed.
static bool adx_lower_indices(adx_lowering *k, adx_set *s,
                              const adx_tensor_node *n, uint32_t row[])
{
    const adx_tensor_array *a = &k->t->tree.array[n->of];
    if (!adx_lower_list(k, s, n, row))
        return false;
    for (uint32_t i = 0; i < n->count && adx_lowered(k); i++) {
        int64_t from = 0;
        int64_t to = 0;
        adx_dim_range(k->t, &k->t->tree.dim[a->first + i], &from, &to);
        for (int upper = 0; upper < 2 && n->guarded; upper++) {
            uint32_t r = adx_new_row(s, ADX_ROW_SIGN);
            if (r == UINT32_MAX)
                return false;
            adx_add_multiple(s, adx_form_of(s, r), upper ? -1 : 1,
                        adx_form_of(s, row[i]));
            adx_form_of(s, r)[0] += upper ? to - 1 : -from;
        }
        if (n->guarded)
            continue;
        const int64_t *below = adx_find_outside(s, row[i], from, false);
        const int64_t *above = below != NULL ? NULL
                             : adx_find_outside(s, row[i], to, true);
        if (below != NULL || above != NULL)
            adx_outside(k, n, row, below != NULL ? below : above);
    }
    adx_simplify_set(s);
    return adx_lowered(k);
}

// The number of an array that is read, wherever it is.
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

// What a view shows in place of a number of it: a value whose only term is one
// number of another. False: it is none, or not for all of this set.
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

// A read as a factor: the set becomes that of the points where it may be other
// than 0.
static adx_access adx_factor_read(adx_lowering *k, adx_set **s,
                                  const adx_tensor_node *n, ad_real *times)
{
    adx_access from = adx_read_number_at(k, *s, n);
    if (adx_lowered(k) && from.value != 0
        && !adx_see_through(k, s, &from, times))
        adx_restrict(k->t, s, from);
    return from;
}

// A number that is needed everywhere, 0 or not: an argument of a function.
static adx_access adx_argument_of(adx_lowering *k, adx_set *s, uint32_t node)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (n->kind == ADX_TREE_READ && !n->guarded
        && (n->count == 0 || k->t->tree.array[n->of].rank == 0
            || k->t->tree.dim[k->t->tree.array[n->of].first].relation == 0))
        return adx_read_number_at(k, s, n);
    return adx_part_of(k, s, &node, 1, false);
}

/* --- products ------------------------------------------------------------ */

#define ADX_FACTORS_MOST 64

typedef struct adx_product_list {
    uint32_t above[ADX_FACTORS_MOST];
    uint32_t below[ADX_FACTORS_MOST];       // the line
    uint32_t n, m;
    ad_real k;
    bool zero;
} adx_product_list;

static void adx_list_factor(adx_lowering *k, adx_product_list *p, uint32_t node,
                            bool below)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    ad_real v = n->kind == ADX_TREE_SIZE ? (ad_real)k->t->given.size[n->of]
                                         : n->value;
    if (n->kind == ADX_TREE_NUMBER || n->kind == ADX_TREE_SIZE)
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

// A number of the array, or a part, for one factor of a product. *sign: what it
// is to be multiplied by.
static adx_access adx_take_factor(adx_lowering *k, adx_set **s, uint32_t node,
                                  ad_real *sign)
{
    const adx_tensor_node *f = adx_node_of(k, node);
    bool detach = f->kind == ADX_TREE_CALL && f->of == ADREV_OP_detach;
    *sign = 1;
    return f->kind == ADX_TREE_READ ? adx_factor_read(k, s, f, sign)
         : adx_factor_part(k, s, detach ? &f->child : &node, 1, detach);
}

// The same for each of some. What stands there twice is taken once.
static void adx_take_each(adx_lowering *k, adx_set **s, const uint32_t node[],
                          uint32_t nodes, ad_real *times, adx_access factor[])
{
    ad_real sign = 1;
    for (uint32_t i = 0; i < nodes && adx_lowered(k); i++) {
        factor[i] = i > 0 && node[i] == node[i - 1]
            ? factor[i - 1] : adx_take_factor(k, s, node[i], &sign);
        *times *= sign;
    }
}

// Factors of a product: reads, or parts. *s becomes the set of the points where
// none of them is 0 for want of being written.
static uint32_t adx_take_factors(adx_lowering *k, adx_set **s,
                                 const uint32_t node[], uint32_t nodes,
                                 ad_real *times, adx_access factor[])
{
    uint32_t before = nodes > 2;        // all but the last one first
    if (before) {
        factor[0] = adx_factor_part(k, s, node, nodes - 1, false);
        node += nodes - 1;
        nodes = 1;
    }
    adx_take_each(k, s, node, nodes, times, factor + before);
    if (adx_lowered(k))
        adx_simplify_set(*s);
    return before + nodes;
}

// Whether a set has the conditions and bounds of another, with which it began.
static bool adx_is_unchanged(const adx_set *s, const adx_set *from)
{
    const adx_tensor_term term = { .set = (adx_set *)s };
    return adx_covers(&term, from);
}

#define ADX_AGAIN_MOST 3

/* --- products in another order --------------------------------------------- */

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
                plain = plain && tree->multiple[f->first + m].kind != ADX_OF_MAP;
        }
    }
    for (uint32_t c = n->child; c != 0 && plain; c = adx_node_of(k, c)->next)
        plain = adx_is_everywhere(k, c);
    return plain;
}

// What a product of these factors depends on. False: it is not plain, or has too
// many factors or variables.
static bool adx_begin_path(adx_lowering *k, adx_target to, const adx_set *s,
                           const uint32_t node[], uint32_t nodes, adx_product_path *p)
{
    bool plain = !k->t->options.as_written && nodes > 1
              && nodes <= ADX_PATH_MOST && !s->empty && s->vars <= 64
              && adx_box_points(s) != UINT64_MAX;
    for (uint32_t i = 0; i < nodes && plain; i++)
        plain = adx_is_everywhere(k, node[i]);
    bool *has = plain ? ADX_GET(&k->t->arena, s->width, bool) : NULL;
    if (has == NULL)
        return false;
    p->factors = nodes;
    p->vars = s->vars;
    for (uint32_t v = 0; v < s->vars; v++) {
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

// The set of these variables alone.
static adx_set *adx_set_of_vars(const adx_set *s, uint64_t vars)
{
    adx_set *to = adx_copy_set(s);
    for (uint32_t v = 0; to != NULL && v < s->vars; v++) {
        if (vars >> v & 1)
            continue;
        to->gone[v] = true;
        for (uint32_t r = 0; r < to->rows; r++)
            adx_form_of(to, r)[1 + v] = 0;
    }
    return to;
}

// Rows for the indices of a part that has these variables; the first of them.
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

// The terms of a subset into a value: a sum of one factor, or the product of two
// subsets.
static void adx_add_pair(adx_pairing *p, adx_target to, const adx_set *s,
                         adx_access one, adx_access other, ad_real times)
{
    if (!adx_lowered(p->k) || s == NULL)
        return;
    adx_tensor_term *term = adx_new_tensor_term(p->k->t, to.value, s, to.out,
                                                times);
    adx_add_factor(term, one);
    if (other.value != 0)
        adx_add_factor(term, other);
}

// A value for the product of a subset of the factors, with its sums.
static adx_access adx_pair_up(adx_pairing *p, uint32_t subset)
{
    const adx_access none = { 0, 0 };
    uint32_t one = p->path->step[subset].one;
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
    if (!adx_lowered(p->k))
        return none;
    adx_set *all = adx_set_of_vars(p->set, after);
    adx_set *s = adx_set_of_vars(p->set, at);
    if (all == NULL || s == NULL)
        return none;
    adx_target part = adx_new_part(p->k, ADX_VALUE_SUM, all);
    part.out = adx_rows_of_vars(s, after);
    adx_add_pair(p, part, s, x, y, 1);
    if (!adx_lowered(p->k))
        return none;
    part.value = adx_complete_value(p->k->t, part.value);
    const adx_access to = { part.value, adx_rows_of_vars(p->set, after) };
    return to;
}

// A product in the order that takes the fewest multiplications. False: that is
// the text's order.
static bool adx_lower_path(adx_lowering *k, adx_target to, adx_set *s,
                           const uint32_t node[], uint32_t nodes, ad_real times)
{
    adx_product_path *path = ADX_GET(&k->t->arena, 1, adx_product_path);
    if (path == NULL || !adx_begin_path(k, to, s, node, nodes, path)
        || !adx_find_path(&k->t->arena, path))
        return false;
    adx_pairing p = { .k = k, .path = path, .set = adx_copy_set(s) };
    adx_take_each(k, &p.set, node, nodes, &times, p.factor);
    if (!adx_lowered(k) || p.set->empty)
        return true;
    if (!adx_is_unchanged(p.set, s))
        return false;
    uint32_t whole = adx_path_whole(path);
    uint32_t one = path->step[whole].one;
    adx_access x = adx_pair_up(&p, one);
    adx_access y = adx_pair_up(&p, whole & ~one);
    if (adx_lowered(k))
        adx_add_pair(&p, to, adx_set_of_vars(p.set, adx_path_at(path, one,
                                                          whole & ~one)),
                     x, y, times);
    return true;
}

// A product without a quotient. If one factor is 0 at some points, the parts
// before it need not be computed there: so all are made again, for fewer points.
// (What was made first is needed by nobody.)
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
    if (adx_lowered(k) && nodes > 1 && !c->empty
        && k->again < ADX_AGAIN_MOST && !adx_is_unchanged(c, begin)) {
        k->again++;
        times = first;
        n = adx_take_factors(k, &c, node, nodes, &times, factor);
        k->again--;
    }
    if (!adx_lowered(k) || c->empty)
        return;
    adx_tensor_term *term = adx_new_tensor_term(k->t, to.value, c, to.out,
                                                times);
    for (uint32_t i = 0; i < n; i++)
        adx_add_factor(term, factor[i]);
}

// A quotient: a product divided by another. Where the numerator is 0 for want of
// being written, there is no division.
static adx_access adx_quotient_part(adx_lowering *k, adx_set **s,
                                    const adx_product_list *p, ad_real *times)
{
    const adx_access none = { 0, 0 };
    uint32_t all[2 * ADX_FACTORS_MOST];
    memcpy(all, p->above, p->n * sizeof *all);
    memcpy(all + p->n, p->below, p->m * sizeof *all);
    adx_set *c = adx_set_of_part(k, *s, all, p->n + p->m);
    if (c == NULL)
        return none;
    adx_target part = adx_new_part(k, ADX_VALUE_ROW, c);
    adx_set *reading = adx_copy_set(c);
    if (reading == NULL || !adx_lowered(k))
        return none;
    k->t->program->value[part.value].op = ADREV_OP_div;
    bool read = p->n == 1
             && adx_node_of(k, p->above[0])->kind == ADX_TREE_READ;
    const adx_access constant = {
        p->n == 0 ? adx_constant_value(k->t, *times) : 0, 0
    };
    *times = p->n == 0 ? 1 : *times;
    adx_access x = p->n == 0 ? constant
        : read ? adx_factor_read(k, &c, adx_node_of(k, p->above[0]), times)
        : adx_factor_part(k, &c, p->above, p->n, false);
    adx_access y = !adx_lowered(k) ? none
        : p->m == 1 ? adx_argument_of(k, c, p->below[0])
                    : adx_part_of(k, c, p->below, p->m, false);
    if (!adx_lowered(k))
        return none;
    adx_simplify_set(c);
    if (!c->empty) {
        adx_tensor_term *term = adx_new_tensor_term(k->t, part.value, c,
                                                    part.out, 1);
        adx_add_factor(term, x);
        adx_add_factor(term, y);
    }
    bool everywhere = adx_is_everywhere_in(k, part.value, reading);
    part.value = adx_complete_value(k->t, part.value);
    adx_access to = adx_read_part(*s, reading, part,
                                  adx_dims_of(k, part.value));
    if (!everywhere)
        adx_restrict(k->t, s, to);
    return to;
}

static void adx_lower_quotient(adx_lowering *k, adx_target to, const adx_set *s,
                               const adx_product_list *p)
{
    adx_set *c = adx_copy_set(s);
    ad_real times = p->k;
    if (c == NULL)
        return;
    adx_access q = adx_quotient_part(k, &c, p, &times);
    if (!adx_lowered(k))
        return;
    adx_simplify_set(c);
    if (!c->empty)
        adx_add_factor(adx_new_tensor_term(k->t, to.value, c, to.out, times),
                       q);
}

static bool adx_is_additive(adx_tree_kind kind)
{
    return kind == ADX_TREE_ADD || kind == ADX_TREE_SUM
        || kind == ADX_TREE_BRACKET;
}

static void adx_lower_product(adx_lowering *k, adx_target to, const adx_set *s,
                              uint32_t node, ad_real times)
{
    adx_product_list *p = ADX_GET(&k->t->arena, 1, adx_product_list);
    if (p == NULL)
        return;
    p->k = times;
    adx_list_factor(k, p, node, false);
    if (!adx_lowered(k))
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

// Terms of times * the expression at the points of s.
static void adx_lower_sum(adx_lowering *k, adx_target to, const adx_set *s,
                          uint32_t node, ad_real times)
{
    const adx_tensor_node *n = adx_node_of(k, node);
    if (!adx_lowered(k) || s->empty)
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
    const adx_set_pieces *pieces = adx_parts_of(k, c, n->condition);
    for (uint32_t i = 0; pieces != NULL && i < pieces->n; i++)
        adx_lower_sum(k, to, pieces->set[i], n->child, times);
    if (sum)
        adx_forget_indices(k, n->first, n->count);
}

/* --- functions and extremes ---------------------------------------------- */

// Makes the value one of a row: its number at each point is op of arguments.
static void adx_lower_call(adx_lowering *k, adx_target to, adx_set *s,
                           const adx_tensor_node *n)
{
    adx_access x[3];
    uint32_t count = 0;
    for (uint32_t c = n->child; c != 0 && count < 3 && adx_lowered(k);
         c = adx_node_of(k, c)->next)
        x[count++] = adx_argument_of(k, s, c);
    if (!adx_lowered(k))
        return;
    adx_tensor_value *v = &k->t->program->value[to.value];
    v->kind = ADX_VALUE_ROW;
    v->op = n->of;
    adx_simplify_set(s);
    adx_tensor_term *term = adx_new_tensor_term(k->t, to.value, s, to.out, 1);
    for (uint32_t i = 0; i < count; i++)
        adx_add_factor(term, x[i]);
}

static void adx_lower_most(adx_lowering *k, adx_target to, adx_set *s,
                           const adx_tensor_node *n)
{
    k->t->program->value[to.value].kind = ADX_VALUE_MOST;
    k->t->program->value[to.value].op =
        n->kind == ADX_TREE_MAXIMUM ? ADREV_OP_max : ADREV_OP_min;
    adx_bind_indices(k, s, n->first, n->count);
    // One part, so that its points have an order: the first of those that are
    // largest has the derivative.
    const adx_set_pieces *pieces = adx_parts_of(k, s, n->condition);
    if (pieces != NULL && pieces->n > 1)
        pieces = adx_where_by_bits(k, s, n->condition);
    for (uint32_t i = 0; pieces != NULL && i < pieces->n && adx_lowered(k);
         i++) {
        adx_set *c = pieces->set[i];
        adx_access x = adx_argument_of(k, c, n->child);
        adx_simplify_set(c);
        if (adx_lowered(k))
            adx_add_factor(adx_new_tensor_term(k->t, to.value, c, to.out, 1), x);
    }
    adx_forget_indices(k, n->first, n->count);
}

// The product of two numbers at each point of a set, as a value.
static adx_access adx_times_part(adx_lowering *k, adx_set *s, adx_access x,
                                 adx_access y)
{
    const adx_access none = { 0, 0 };
    adx_set *c = adx_lowered(k) ? adx_copy_set(s) : NULL;
    if (c == NULL)
        return none;
    adx_target part = adx_new_part(k, ADX_VALUE_SUM, c);
    if (!adx_lowered(k))
        return none;
    adx_tensor_term *term = adx_new_tensor_term(k->t, part.value, c, part.out,
                                                1);
    adx_add_factor(term, x);
    adx_add_factor(term, y);
    part.value = adx_complete_value(k->t, part.value);
    return adx_read_part(s, c, part, adx_dims_of(k, part.value));
}

// x^n for |n| > 2: squares and products, each a value; or 1 / x^n.
static void adx_lower_power_of(adx_lowering *k, adx_target to, adx_set *s,
                               const adx_tensor_node *n)
{
    uint32_t left = (uint32_t)(n->power < 0 ? -(int64_t)n->power : n->power);
    const adx_tensor_node *base = adx_node_of(k, n->child);
    ad_real times = 1;
    adx_access all = { 0, 0 };
    adx_access square = n->power < 0 ? adx_argument_of(k, s, n->child)
        : base->kind == ADX_TREE_READ ? adx_factor_read(k, &s, base, &times)
        : adx_factor_part(k, &s, &n->child, 1, false);
    if (adx_lowered(k))
        adx_simplify_set(s);
    if (n->power % 2 == 0)
        times = 1;
    bool any = false;
    for (; left > 0 && adx_lowered(k); left >>= 1) {
        if (left & 1) {
            all = any ? adx_times_part(k, s, all, square) : square;
            any = true;
        }
        if (left > 1)
            square = adx_times_part(k, s, square, square);
    }
    if (!adx_lowered(k))
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
        v->kind = ADX_VALUE_ROW;
        v->op = ADREV_OP_div;
        adx_tensor_term *term = adx_new_tensor_term(k->t, to.value, s, to.out, 1);
        adx_add_factor(term, one);
        adx_add_factor(term, all);
    }
}

// An expression into a value of its own, at the points of s.
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

// The values of all formulas.
static void adx_lower_formulas(adx_lowering *k)
{
    const adx_tree *tree = &k->t->tree;
    for (uint32_t i = 1; i < tree->formula_count && adx_lowered(k); i++) {
        const adx_tensor_formula *f = &tree->formula[i];
        uint32_t rank = tree->array[f->array].rank;
        adx_set *s = adx_new_set(&k->t->arena);
        if (s == NULL)
            return;
        const adx_target to = {
            k->value_of[f->array], adx_bind_indices(k, s, f->first, rank)
        };
        adx_lower_into(k, to, s, f->body);
        adx_forget_indices(k, f->first, rank);
        if (adx_lowered(k))
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
 *   needs   tensor/api tensor/arena tensor/sets tensor/binding tensor/programs
 *           tensor/sharing
 *   offers  adx_need_all adx_derive_program
 * ========================================================================== */

ADX_SELDOM_BEGIN

static bool adx_same_rows(const adx_set *s, uint32_t one, uint32_t other,
                          uint32_t n)
{
    return memcmp(adx_form_of(s, one), adx_form_of(s, other),
                  (size_t)n * s->width * sizeof *s->k) == 0;
}

static bool adx_is_square(const ad_tensor *t, const adx_tensor_term *term)
{
    return term->factors == 2 && term->factor[0].value == term->factor[1].value
        && adx_same_rows(term->set, term->factor[0].row, term->factor[1].row,
                         adx_tensor_value_at(t, term->factor[0].value)->dims);
}

// The partial of a row as a factor, times a number.
typedef struct adx_tensor_partial {
    adx_access from;            // value 0: there is none but the number
    ad_real k;
} adx_tensor_partial;

// A partial that is an argument, the result, or a number, by its text in the
// table. False: it is none of these.
static bool adx_is_plain_partial(ad_tensor *t, uint32_t row, const char *text,
                                 adx_tensor_partial *to)
{
    const adx_tensor_term *of = adx_tensor_value_at(t, row)->term;
    static const char letters[] = "xyz";
    const char *letter = strchr(letters, text[0]);
    bool twice = strcmp(text, "2 * x") == 0;
    to->from.value = to->from.row = 0;
    to->k = twice ? 2 : text[0] == '-' ? -1 : 1;
    if (strcmp(text, "1") == 0 || strcmp(text, "-1") == 0)
        return true;
    if (strcmp(text, "v") == 0) {
        to->from.value = row;
        to->from.row = of->out;
        return true;
    }
    if (twice || (letter != NULL && text[1] == '\0'))
        to->from = of->factor[twice ? 0 : letter - letters];
    return to->from.value != 0;
}

// A partial as a value, at the points of a set. That of a quotient is a quotient,
// 1/y or (x/y)/y, of which the second is to be subtracted.
static adx_tensor_partial adx_tensor_partial_of(ad_tensor *t, uint32_t row,
                                         uint32_t which, const adx_set *s)
{
    uint32_t op = adx_tensor_value_at(t, row)->op;
    bool quotient = op == ADREV_OP_div;
    const adx_tensor_term of = adx_tensor_value_at(t, row)->term[0];
    adx_tensor_partial to;
    if (adx_is_plain_partial(t, row, ad_op_table()[op].partial[which], &to))
        return to;
    uint32_t one = quotient && which == 0 ? adx_constant_value(t, 1) : 0;
    uint32_t p = adx_value_like(t, row, quotient ? ADX_VALUE_ROW
                                                 : ADX_VALUE_PARTIAL);
    to.from.value = p;
    to.from.row = of.out;
    to.k = quotient && which == 1 ? -1 : 1;
    if (p == 0)
        return to;
    const adx_access above = { which == 0 ? one : row, of.out };
    adx_tensor_value_at(t, p)->op = op;
    adx_tensor_value_at(t, p)->which = which;
    adx_lay_out(t, adx_tensor_value_at(t, p), NULL);
    adx_tensor_term *term = adx_new_tensor_term(t, p, s, of.out, 1);
    for (uint32_t i = 0; i < of.factors; i++)
        adx_add_factor(term, quotient && i == 0 ? above : of.factor[i]);
    to.from.value = adx_complete_value(t, p);
    return to;
}

static bool adx_has_partial_text(uint32_t op, uint32_t which)
{
    return strcmp(ad_op_table()[op].partial[which], "0") != 0;
}

/* --- tangents ------------------------------------------------------------ */

// The value of the tangent, made when it is first needed.
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

static void adx_tangent_term(ad_tensor *t, uint32_t value,
                             const adx_tensor_term *of, uint32_t which,
                             ad_real k)
{
    adx_set *s = adx_copy_set(of->set);
    const adx_access moved = {
        adx_tensor_value_at(t, of->factor[which].value)->tangent, of->factor[which].row
    };
    if (s == NULL || !adx_restrict(t, &s, moved) || s->empty)
        return;
    uint32_t to = adx_tangent_value(t, value);
    adx_tensor_term *term = to == 0 ? NULL : adx_new_tensor_term(t, to, s, of->out, k);
    for (uint32_t i = 0; i < of->factors; i++)
        adx_add_factor(term, i == which ? moved : of->factor[i]);
    if (term != NULL) {
        term->most = of->most;
        term->at = of->at;
        term->picked = of->picked;
    }
}

static void adx_tangent_of_row(ad_tensor *t, uint32_t value)
{
    const adx_tensor_term of = adx_tensor_value_at(t, value)->term[0];
    for (uint32_t i = 0; i < of.factors; i++) {
        const adx_access moved = {
            adx_tensor_value_at(t, of.factor[i].value)->tangent, of.factor[i].row
        };
        adx_set *s = adx_copy_set(of.set);
        if (moved.value == 0
            || !adx_has_partial_text(adx_tensor_value_at(t, value)->op, i))
            continue;
        if (s == NULL || !adx_restrict(t, &s, moved))
            return;
        const adx_tensor_partial partial = adx_tensor_partial_of(t, value, i, s);
        uint32_t to = adx_tangent_value(t, value);
        adx_tensor_term *term = to == 0 ? NULL
                              : adx_new_tensor_term(t, to, s, of.out,
                                                    partial.k);
        if (partial.from.value != 0)
            adx_add_factor(term, partial.from);
        adx_add_factor(term, moved);
    }
}

static void adx_tangent_of_most(ad_tensor *t, uint32_t value)
{
    for (uint32_t i = 0; i < adx_tensor_value_at(t, value)->terms; i++) {
        const adx_tensor_term of = adx_tensor_value_at(t, value)->term[i];
        const adx_access moved = {
            adx_tensor_value_at(t, of.factor[0].value)->tangent, of.factor[0].row
        };
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

// A partial that depends on inputs: its own derivative is not known.
static void adx_note_curved(ad_tensor *t, const adx_tensor_value *partial)
{
    for (uint32_t i = 0; i < partial->term[0].factors; i++)
        t->program->curved = t->program->curved
            || adx_tensor_value_at(t, partial->term[0].factor[i].value)
                   ->tangent != 0;
}

static void adx_tangent_of(ad_tensor *t, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(t, value);
    if (v->kind == ADX_VALUE_PARTIAL)
        adx_note_curved(t, v);
    if (v->fixed || v->kind <= ADX_VALUE_WEIGHT || v->kind == ADX_VALUE_PARTIAL)
        return;
    if (v->kind == ADX_VALUE_ROW && v->terms > 0)
        adx_tangent_of_row(t, value);
    else if (v->kind == ADX_VALUE_MOST)
        adx_tangent_of_most(t, value);
    else
        for (uint32_t i = 0; i < adx_tensor_value_at(t, value)->terms; i++) {
            const adx_tensor_term of = adx_tensor_value_at(t, value)->term[i];
            bool square = adx_is_square(t, &of);
            for (uint32_t j = 0; j < (square ? 1 : of.factors); j++)
                if (adx_tensor_value_at(t, of.factor[j].value)->tangent != 0)
                    adx_tangent_term(t, value, &of, j, square ? 2 * of.k : of.k);
        }
    uint32_t tangent = adx_tensor_value_at(t, value)->tangent;
    if (tangent != 0) {
        tangent = adx_complete_value(t, tangent);
        adx_tensor_value_at(t, value)->tangent = tangent;
    }
}

/* --- adjoints ------------------------------------------------------------ */

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
    adx_tensor_term *term = to == 0 ? NULL
                          : adx_new_tensor_term(t, to, s, of->factor[which].row, k);
    for (uint32_t i = 0; i < of->factors; i++)
        if (i != which)
            adx_add_factor(term, of->factor[i]);
    adx_add_factor(term, above);
    if (term != NULL) {
        term->most = of->most;
        term->at = of->at;
        term->picked = of->picked;
    }
}

static void adx_adjoint_of_row(ad_tensor *t, uint32_t value,
                               const adx_tensor_term *of, const adx_set *s,
                               adx_access above)
{
    uint32_t op = adx_tensor_value_at(t, value)->op;
    for (uint32_t i = 0; i < of->factors; i++) {
        if (!adx_is_active(t, of->factor[i].value)
            || !adx_has_partial_text(op, i))
            continue;
        const adx_tensor_partial partial = adx_tensor_partial_of(t, value, i, s);
        uint32_t to = adx_adjoint_value(t, of->factor[i].value);
        adx_tensor_term *term = to == 0 ? NULL
            : adx_new_tensor_term(t, to, s, of->factor[i].row, partial.k);
        if (partial.from.value != 0)
            adx_add_factor(term, partial.from);
        adx_add_factor(term, above);
    }
}

// What a value adds to the adjoints of those that it is made of; its own is
// complete.
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
        if (kind == ADX_VALUE_ROW) {
            adx_adjoint_of_row(t, value, &of, s, above);
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

// The adjoint of a result begins with its weight.
static void adx_begin_adjoint(ad_tensor *t, uint32_t out, uint32_t weight)
{
    const adx_access w = { weight, 0 };
    uint32_t to = adx_adjoint_value(t, out);
    adx_set *s = to == 0 ? NULL : adx_all_indices(t, adx_tensor_value_at(t, out));
    if (s != NULL && !s->empty)
        adx_add_factor(adx_new_tensor_term(t, to, s, 0, 1), w);
}

static uint32_t adx_given_like(ad_tensor *t, uint32_t like, adx_value_kind kind,
                               uint32_t order)
{
    uint32_t v = adx_value_like(t, like, kind);
    if (v != 0)
        adx_tensor_value_at(t, v)->order = order;
    return v;
}

// What is needed for what is needed.
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

// Tangents of what adjoints are made of: their own values, and those partials
// that tangents have, too.
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
    p->curved = false;
    adx_derive_adjoints(t, tangents);
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        p->second_in[i] = p->adjoint_in[i] == 0 ? 0
            : adx_tensor_value_at(t, p->adjoint_in[i])->tangent;
}

ADX_SELDOM_END

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
 *           tensor/programs
 *   offers  adx_tensor_more adx_matrices adx_find_matrices adx_run_matrices
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

// `width` numbers for each of k, the next one `along` further; beyond `count`
// zeros.
ADX_INLINE void adx_pack_strip(int width, int64_t count, int64_t k,
                               const ad_real *from, int64_t step,
                               int64_t along, ad_real *restrict to)
{
    for (; count >= width && k > 0; k--, from += along, to += width)
        for (int i = 0; i < width; i++)
            to[i] = from[i * step];
    for (; k > 0; k--, from += along, to += width)
        for (int i = 0; i < width; i++)
            to[i] = i < count ? from[i * step] : 0;
}

// All strips of a panel, each for `width` rows or columns.
ADX_INLINE void adx_pack_panel(int width, int64_t count, int64_t k,
                               const ad_real *from, int64_t step,
                               int64_t along, ad_real scale, ad_real *to)
{
    for (; count > 0; count -= width, from += width * step, to += width * k) {
        if (step == 1)
            adx_pack_strip(width, count, k, from, 1, along, to);
        else
            adx_pack_strip(width, count, k, from, step, along, to);
        for (int64_t i = 0; scale != 1 && i < width * k; i++)
            to[i] = scale * to[i];
    }
}

static void adx_pack_rows(int64_t count, int64_t k, const ad_real *from,
                          int64_t step, int64_t along, ad_real scale,
                          ad_real *to)
{
    adx_pack_panel(ADX_TILE_M, count, k, from, step, along, scale, to);
}

static void adx_pack_columns(int64_t count, int64_t k, const ad_real *from,
                             int64_t step, int64_t along, ad_real scale,
                             ad_real *to)
{
    adx_pack_panel(ADX_TILE_N, count, k, from, step, along, scale, to);
}

/* --- tiles ---------------------------------------------------------------- */

#ifdef ADX_LANES

#define ADX_WIDE_AT(at) (*(adx_wide *)(at))
#define ADX_CONST_WIDE(at) (*(const adx_wide *)(at))
#define ADX_TILE_LOAD(r)                                                    \
    adx_wide sum##r##0 = ADX_WIDE_AT(c + r * step);                         \
    adx_wide sum##r##1 = ADX_WIDE_AT(c + r * step + ADX_WIDE);              \
    adx_wide sum##r##2 = ADX_WIDE_AT(c + r * step + 2 * ADX_WIDE);
#define ADX_TILE_STORE(r)                                                   \
    ADX_WIDE_AT(c + r * step) = sum##r##0;                                  \
    ADX_WIDE_AT(c + r * step + ADX_WIDE) = sum##r##1;                       \
    ADX_WIDE_AT(c + r * step + 2 * ADX_WIDE) = sum##r##2;
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

// A tile of C, whose rows are `step` apart, += a strip of A times one of B.
// Numbers of A are `row` and `column` apart, rows of B `next`.
#define ADX_DEFINE_TILE(name, DO)                                           \
    static void name(int64_t k, const ad_real *restrict a, int64_t row,     \
                     int64_t column, const ad_real *restrict b,             \
                     int64_t next, ad_real *restrict c, int64_t step)       \
    {                                                                       \
        const adx_wide none = { 0 };                                        \
        ADX_TILE_ROWS(ADX_TILE_LOAD)                                        \
        for (; k > 0; k--, a += column, b += next) {                        \
            const adx_wide y0 = ADX_CONST_WIDE(b);                          \
            const adx_wide y1 = ADX_WIDE_AT(b + ADX_WIDE);                  \
            const adx_wide y2 = ADX_WIDE_AT(b + 2 * ADX_WIDE);              \
            ADX_TILE_ROWS(DO)                                               \
        }                                                                   \
        ADX_TILE_ROWS(ADX_TILE_STORE)                                       \
    }
ADX_DEFINE_TILE(adx_add_tile, ADX_TILE_ADD)
ADX_DEFINE_TILE(adx_fuse_tile, ADX_TILE_FUSE)
#undef ADX_DEFINE_TILE

#else

static void adx_add_tile(int64_t k, const ad_real *restrict a, int64_t row,
                         int64_t column, const ad_real *restrict b,
                         int64_t next, ad_real *restrict c, int64_t step)
{
    for (; k > 0; k--, a += column, b += next)
        for (int i = 0; i < ADX_TILE_M; i++)
            for (int j = 0; j < ADX_TILE_N; j++)
                c[i * step + j] = adx_tensor_more(c[i * step + j],
                                                  a[i * row] * b[j]);
}

static void adx_fuse_tile(int64_t k, const ad_real *restrict a, int64_t row,
                          int64_t column, const ad_real *restrict b,
                          int64_t next, ad_real *restrict c, int64_t step)
{
    for (; k > 0; k--, a += column, b += next)
        for (int i = 0; i < ADX_TILE_M; i++)
            for (int j = 0; j < ADX_TILE_N; j++)
                c[i * step + j] = adm_fma(a[i * row], b[j], c[i * step + j]);
}

#endif

// Rows of A, or columns of B, for a tile: packed, or where they lie. The next
// one is `step` further, numbers of the sum `along`.
typedef struct adx_matrix_strip {
    const ad_real *at;
    int64_t step;
    int64_t along;
} adx_matrix_strip;

static void adx_run_tile(bool fused, int64_t k, adx_matrix_strip a,
                         adx_matrix_strip b, ad_real *c, int64_t step)
{
    if (fused)
        adx_fuse_tile(k, a.at, a.step, a.along, b.at, b.along, c, step);
    else
        adx_add_tile(k, a.at, a.step, a.along, b.at, b.along, c, step);
}

// A tile at the edge of C, or one whose numbers do not lie side by side, by way
// of a tile that is full. What it has too much is not looked at.
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
    int64_t step, along;        // as those of a strip
    ad_real scale;
    bool all;                   // are packed; else those of the last tile, if
                                // there are less than it has
    ad_real *packed;
} adx_matrix_side;

static adx_matrix_strip adx_side_strip(const adx_matrix_side *s, int64_t k,
                                       int64_t i)
{
    const adx_matrix_strip packed = { s->packed + i * k, 1, s->tile };
    const adx_matrix_strip in_place = { s->from + i * s->step, s->step,
                                        s->along };
    return s->all || s->count - i < s->tile ? packed : in_place;
}

// Few numbers stay where they are.
static void adx_pack_side(adx_matrix_side *s, int64_t k)
{
    bool rows = s->tile == ADX_TILE_M;
    s->all = s->scale != 1 || s->count * k > ADX_UNPACKED_MOST
          || (!rows && s->step != 1);
    int64_t i = s->all ? 0 : s->count / s->tile * s->tile;
    (rows ? adx_pack_rows : adx_pack_columns)(
        s->count - i, k, s->from + i * s->step, s->step, s->along, s->scale,
        s->packed + i * k);
}

// m x n numbers of C, and k of the sum.
static void adx_run_part(const adx_matrix_product *p, const adx_matrix_side *a,
                         const adx_matrix_side *b, int64_t k, ad_real *c)
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

static int64_t adx_least_of(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t adx_whole_tiles(int64_t n, int64_t tile)
{
    return (n + tile - 1) / tile * tile;
}

// Numbers of a panel of A, and of one of B.
static void adx_panel_sizes(const adx_matrix_product *p, int64_t size[2])
{
    int64_t k = adx_least_of(p->k, ADX_PANEL_K);
    size[0] = k * adx_whole_tiles(adx_least_of(p->m, ADX_PANEL_M), ADX_TILE_M);
    size[1] = k * adx_whole_tiles(adx_least_of(p->n, ADX_PANEL_N), ADX_TILE_N);
}

// C is written row by row: where its columns lie side by side, the transposed
// product is computed.
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

// panel: room for both.
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
            int64_t k = adx_least_of(p->k - l, ADX_PANEL_K);
            b.count = adx_least_of(p->n - j, ADX_PANEL_N);
            b.from = p->b + l * p->brs + j * p->bcs;
            adx_pack_side(&b, k);
            for (int64_t i = 0; i < p->m; i += ADX_PANEL_M) {
                a.count = adx_least_of(p->m - i, ADX_PANEL_M);
                a.from = p->a + i * p->ars + l * p->acs;
                adx_pack_side(&a, k);
                adx_run_part(p, &a, &b, k, p->c + i * p->crs + j * p->ccs);
            }
        }
}

/* --- terms that are products of matrices ---------------------------------- */

// A loop around the product; by how much places change: of what is written, and
// of the two factors.
typedef struct adx_matrix_loop {
    int64_t n;
    int64_t step[3];
} adx_matrix_loop;

typedef struct adx_matrices {
    adx_matrix_product product; // of the first numbers; without addresses
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

static int64_t adx_var_extent(const adx_set *s, uint32_t v)
{
    return s->high[v] - s->low[v] + 1;
}

// The variable of the largest extent that is written and is in factor `in`
// only. UINT32_MAX: there is none.
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

// The innermost variable of a nest that is not written. UINT32_MAX: none.
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
            && points != UINT64_MAX && points >= ADX_PRODUCT_LEAST;
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
                loop->step[i] = f->form[i][1 + v];
        }
        if (!inside)
            loop->n = adx_var_extent(f->set, v);
    }
    return to->loop != NULL;
}

static adx_matrices *adx_make_matrices(ad_tensor *t,
                                       const adx_matrix_forms *f,
                                       const adx_nest *nest,
                                       const uint32_t var[3], ad_real scale)
{
    adx_matrices *to = ADX_GET(&t->arena, 1, adx_matrices);
    int64_t *const *form = f->form;
    if (to == NULL || !adx_add_matrix_loops(t, f, nest, var, to))
        return NULL;
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

static bool adx_is_side_by_side(const adx_matrix_forms *f, uint32_t v)
{
    return adx_is_unit(f->form[0][1 + v]);
}

// A term that is a product of matrices, and a nest that adds in the same order.
// NULL: it is none, or no memory.
static adx_matrices *adx_find_matrices(ad_tensor *t, uint32_t value,
                                       const adx_tensor_term *term,
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
    const adx_nest *by = adx_make_nest(f.set, columns ? var[0] : var[2]);
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

typedef struct adx_matrix_walk {
    const adx_matrices *of;
    const ad_tensor *t;
    ad_real *room;
} adx_matrix_walk;

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

static void adx_run_matrix_loop(const adx_matrix_walk *w, uint32_t loop,
                                ad_real *c, const ad_real *a,
                                const ad_real *b)
{
    if (loop < w->of->loops) {
        const adx_matrix_loop *l = &w->of->loop[loop];
        for (int64_t i = 0; i < l->n; i++)
            adx_run_matrix_loop(w, loop + 1, c + i * l->step[0],
                                a + i * l->step[1], b + i * l->step[2]);
        return;
    }
    adx_matrix_product p = w->of->product;
    p.a = a;
    p.b = b;
    p.c = c;
    if (w->t->options.gemm == NULL) {
        adx_turn_product(&p);
        adx_run_matrix_product(&p, w->room);
        return;
    }
    if (p.scale != 1)
        adx_scale_matrix(&p, w->room);
    w->t->options.gemm((size_t)p.m, (size_t)p.k, (size_t)p.n, p.a, p.ars, p.acs,
                       p.b, p.brs, p.bcs, p.c, p.crs, p.ccs);
}

// Numbers of memory that a product takes.
static int64_t adx_matrix_room(const ad_tensor *t, adx_matrix_product p)
{
    int64_t size[2];
    if (t->options.gemm != NULL)
        return p.scale == 1 ? 0 : p.m * p.k;
    adx_turn_product(&p);
    adx_panel_sizes(&p, size);
    return size[0] + size[1];
}

// Adds the products to what is written. False: no memory, and nothing was done.
static bool adx_run_matrices(const ad_tensor *t, const adx_matrices *of,
                             ad_real *c, const ad_real *a, const ad_real *b)
{
    const size_t line = 64 / sizeof(ad_real);   // tiles begin with a line of
    ad_real *room = (ad_real *)adx_take(        // the cache
        &t->memory, (size_t)adx_matrix_room(t, of->product) + line,
        sizeof *room);
    if (room == NULL)
        return false;
    size_t past = (uintptr_t)room / sizeof *room % line;
    const adx_matrix_walk w = { of, t, room + (line - past) % line };
    adx_run_matrix_loop(&w, 0, c + of->first[0], a + of->first[1],
                        b + of->first[2]);
    adx_drop(&t->memory, room);
    return true;
}

/* === tensor/run =============================================================
 * Evaluates programs: the values that are needed, one after the other, by loops
 * over the sets of their terms. The innermost loop is a kernel over numbers that
 * are evenly spaced. Sums are made in an order that depends on the sizes alone.
 *
 *   needs   array/sums tensor/api tensor/arena tensor/sets tensor/nests
 *           tensor/binding tensor/programs tensor/sharing tensor/derive
 *           tensor/matrices
 *   offers  adx_prepare_program adx_clear_results adx_evaluating
 *           adx_clear_from adx_one adx_run_value
 * ========================================================================== */

// A place in memory along the loops; `step` from one point of the innermost
// loop to the next.
typedef struct adx_stream_of {
    adx_sparse_form place;
    int64_t step;
} adx_stream_of;

typedef struct adx_loop {
    const adx_nest *nest;
    adx_stream_of out;
    adx_stream_of factor[3];
    adx_stream_of at;           // of a pick: in `most`
    adx_stream_of picked;
    uint64_t points;            // UINT64_MAX: to be counted
    const adx_matrices *matrices;       // NULL: it is no product of matrices
} adx_loop;

/* --- loops --------------------------------------------------------------- */

static bool adx_make_stream(ad_tensor *t, const adx_set *s, adx_access from,
                            uint32_t inner, adx_stream_of *to)
{
    int64_t *form = ADX_GET(&t->arena, s->width, int64_t);
    if (form == NULL)
        return false;
    adx_place_form(s, adx_tensor_value_at(t, from.value), from.row, true, form);
    to->step = inner == UINT32_MAX ? 0 : form[1 + inner];
    return adx_make_sparse_form(s, form, UINT32_MAX, &to->place);
}

// How well a variable serves as the innermost one: numbers that are next to one
// another, or the same.
static int adx_score_inner(ad_tensor *t, const adx_tensor_term *term,
                           uint32_t value, uint32_t var, int64_t form[])
{
    int score = 0;
    for (uint32_t i = 0; i <= term->factors; i++) {
        const adx_access to = i == 0 ? (adx_access){ value, term->out }
                                     : term->factor[i - 1];
        adx_place_form(term->set, adx_tensor_value_at(t, to.value), to.row, true,
                       form);
        int64_t step = form[1 + var];
        score += step == 0 ? (i == 0 ? 2 : 3) : adx_is_unit(step) ? 3 : 0;
    }
    return score;
}

static uint32_t adx_choose_inner(ad_tensor *t, const adx_tensor_term *term,
                                 uint32_t value)
{
    const adx_set *s = term->set;
    int64_t *form = ADX_GET(&t->arena, s->width, int64_t);
    uint32_t best = UINT32_MAX;
    int most = -1;
    for (uint32_t v = 0; form != NULL && v < s->vars; v++) {
        if (s->gone[v] || s->high[v] - s->low[v] < 3)
            continue;
        int score = adx_score_inner(t, term, value, v, form);
        if (score >= most) {
            most = score;
            best = v;
        }
    }
    return best;
}

static adx_loop *adx_make_loop(ad_tensor *t, uint32_t value,
                               const adx_tensor_term *term)
{
    adx_loop *l = ADX_GET(&t->arena, 1, adx_loop);
    const adx_set *s = term->set;
    if (l == NULL)
        return NULL;
    bool picks = term->most != 0
              || adx_tensor_value_at(t, value)->kind == ADX_VALUE_MOST;
    l->matrices = adx_find_matrices(t, value, term, &l->nest);
    if (l->matrices == NULL)
        l->nest = adx_make_nest(s, picks ? ADX_IN_ORDER
                                         : adx_choose_inner(t, term, value));
    if (l->nest == NULL)
        return NULL;
    uint32_t inner = l->nest->levels == 0 ? UINT32_MAX
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
    l->points = adx_box_points(s);
    if (s->vars > t->program->vars)
        t->program->vars = s->vars;
    return ok ? l : NULL;
}

// Prepares all values that results need.
static void adx_prepare_program(ad_tensor *t)
{
    adx_tensor_program *p = t->program;
    bool *needed = ADX_GET(&t->arena, p->values, bool);
    if (needed == NULL)
        return;
    for (uint32_t i = 0; i < t->tree.outs; i++)
        needed[p->out[i]] = needed[p->tangent_out[i]] = true;
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        needed[p->adjoint_in[i]] = needed[p->second_in[i]] = true;
    adx_need_all(p, needed);
    for (uint32_t i = 0; i < p->steps && t->arena.status == ADREV_OK; i++) {
        adx_tensor_value *v = adx_tensor_value_at(t, p->order[i]);
        if (!needed[p->order[i]])
            continue;
        adx_all_written(t, p->order[i]);
        bool all = v->kind != ADX_VALUE_SUM;        // reads what is 0, too
        for (uint32_t j = 0; j < v->terms; j++) {
            adx_tensor_term *term = &v->term[j];
            for (uint32_t f = 0; all && f < term->factors; f++)
                if (!adx_all_written(t, term->factor[f].value))
                    adx_tensor_value_at(t, term->factor[f].value)->cleared = true;
            term->loop = adx_make_loop(t, p->order[i], term);
            if (term->loop == NULL)
                adx_arena_fail(&t->arena, ADREV_ENOMEM);
        }
        if (v->kind == ADX_VALUE_MOST && v->span > p->picks)
            p->picks = v->span;
        v->once = v->terms == 1 && v->term[0].most == 0
               && v->kind == ADX_VALUE_SUM && adx_writes_once(v, &v->term[0]);
    }
}

// Numbers that the caller is given must all be there.
static void adx_clear_results(ad_tensor *t, const uint32_t value[], uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (value[i] != 0 && !adx_all_written(t, value[i]))
            adx_tensor_value_at(t, value[i])->cleared = true;
}

/* --- an evaluation ------------------------------------------------------- */

// base[value]: the number at its least indices; NULL: not there, or all 0.
typedef struct adx_evaluating {
    ad_tensor *t;
    ad_real **base;
    bool *needed;
    int64_t *x;
    ad_real *memory;
    bool *picked;               // of one value that is a most
    const adx_tensor_value *value;
    const adx_tensor_term *term;
    const adx_loop *loop;
    ad_real *out;
    const ad_real *factor[3];
} adx_evaluating;

// Whether a term is a product with something that is all 0.
static bool adx_is_nothing(const adx_evaluating *e, const adx_tensor_term *term)
{
    for (uint32_t f = 0; f < term->factors; f++)
        if (e->base[term->factor[f].value] == NULL)
            return true;
    return false;
}

static void adx_clear_from(const adx_tensor_value *v, uint32_t dim, ad_real *to)
{
    if (dim == v->dims) {
        *to = 0;
        return;
    }
    if (dim + 1 == v->dims && v->stride[dim] == 1) {
        memset(to, 0, (size_t)v->extent[dim] * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < v->extent[dim]; i++)
        adx_clear_from(v, dim + 1, to + i * v->stride[dim]);
}

static bool adx_clear_points(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    ad_real *to = e->out + adx_sparse_at(&e->loop->out.place, x);
    int64_t step = var == UINT32_MAX ? 0 : e->loop->out.step;
    for (int64_t i = 0; i < (step == 0 ? 1 : count); i++)
        to[i * step] = 0;
    return true;
}

/* --- kernels ----------------------------------------------------------------
 * Products of two numbers along the innermost loop; 1 where there are fewer.
 * Distances of 0 and 1 are constants of the loops, so that they become vectors.
 * (A product of matrices, n = 256, gcc -O3: 2.4 instead of 8.7 ms.)          */

// a*b + sum, in one rounding or in two.
ADX_INLINE ad_real adx_sum_with(bool fused, ad_real a, ad_real b, ad_real sum)
{
    return fused ? adm_fma(a, b, sum) : adx_tensor_more(sum, a * b);
}

// Sums in eight parts, as those of adrev's array statements.
ADX_INLINE ad_real adx_add_products_by(bool fused, int64_t n,
                                       const ad_real *restrict a, int64_t as,
                                       const ad_real *restrict b, int64_t bs)
{
    ad_real sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int64_t j = 0; j < 8; j++)
            sum[j] = adx_sum_with(fused, a[(i + j) * as], b[(i + j) * bs],
                                  sum[j]);
    for (; i < n; i++)
        sum[0] = adx_sum_with(fused, a[i * as], b[i * bs], sum[0]);
    return ((sum[0] + sum[4]) + (sum[1] + sum[5]))
         + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

ADX_INLINE ad_real adx_add_products(bool fused, int64_t n, const ad_real *a,
                                    int64_t as, const ad_real *b, int64_t bs)
{
    return as == 1 && bs == 1 ? adx_add_products_by(fused, n, a, 1, b, 1)
         : as == 1 && bs == 0 ? adx_add_products_by(fused, n, a, 1, b, 0)
         : as == 1 ? adx_add_products_by(fused, n, a, 1, b, bs)
         : bs == 1 ? adx_add_products_by(fused, n, a, as, b, 1)
         : adx_add_products_by(fused, n, a, as, b, bs);
}

typedef struct adx_tensor_strip {
    int64_t n;
    ad_real k;
    ad_real *to;
    int64_t step;
    const ad_real *a;
    int64_t as;
    const ad_real *b;
    int64_t bs;
} adx_tensor_strip;

static void adx_run_dot(const adx_tensor_strip *s, bool fused)
{
    ad_real sum = fused ? adx_add_products(true, s->n, s->a, s->as, s->b, s->bs)
                : adx_add_products(false, s->n, s->a, s->as, s->b, s->bs);
    *s->to = adx_sum_with(fused, s->k, sum, *s->to);
}

typedef enum adx_strip_way { ADX_STRIP_STORE, ADX_STRIP_ADD, ADX_STRIP_FUSE }
    adx_strip_way;

// to = k*a*b, or += that.
ADX_INLINE void adx_strip_by(const adx_tensor_strip *s, adx_strip_way way,
                             int64_t step, int64_t as, int64_t bs)
{
    ad_real *restrict to = s->to;
    const ad_real *restrict a = s->a;
    const ad_real *restrict b = s->b;
    const ad_real k = s->k;
    const int64_t n = s->n;
    if (way == ADX_STRIP_STORE)
        for (int64_t i = 0; i < n; i++)
            to[i * step] = k * a[i * as] * b[i * bs];
    else
        for (int64_t i = 0; i < n; i++)
            to[i * step] = adx_sum_with(way == ADX_STRIP_FUSE, k * a[i * as],
                                        b[i * bs], to[i * step]);
}

ADX_INLINE void adx_run_strip_as(const adx_tensor_strip *s, adx_strip_way way)
{
    bool next = s->step == 1 && s->n > 1;
    if (next && s->as == 1 && s->bs == 1)
        adx_strip_by(s, way, 1, 1, 1);
    else if (next && s->as == 1 && s->bs == 0)
        adx_strip_by(s, way, 1, 1, 0);
    else if (next && s->as == 0 && s->bs == 1)
        adx_strip_by(s, way, 1, 0, 1);
    else
        adx_strip_by(s, way, s->step, s->as, s->bs);
}

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

static bool adx_run_sum(void *user, const int64_t x[], uint32_t var,
                        int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_loop *l = e->loop;
    bool loop = var != UINT32_MAX;
    const ad_real *from[2] = { adx_one, adx_one };
    int64_t step[2] = { 0, 0 };
    for (uint32_t f = 0; f < e->term->factors; f++) {
        from[f] = e->factor[f] + adx_sparse_at(&l->factor[f].place, x);
        step[f] = loop ? l->factor[f].step : 0;
    }
    const adx_tensor_strip s = {
        n, e->term->k, e->out + adx_sparse_at(&l->out.place, x),
        loop ? l->out.step : 0, from[0], step[0], from[1], step[1]
    };
    if (s.step == 0 && n > 1)
        adx_run_dot(&s, e->t->options.fused);
    else
        adx_run_strip(&s, e->value->once, e->t->options.fused);
    return true;
}

static ad_real adx_row_partial(uint32_t op, uint32_t which, ad_real x,
                               ad_real y, ad_real z, ad_real v)
{
    switch (op) {
#define ADX_CASE(name, ...)                                                 \
    case ADREV_OP_##name:                                                   \
        return which == 0 ? adx_fx_##name(x, y, z, v)                       \
             : which == 1 ? adx_fy_##name(x, y, z, v)                       \
                          : adx_fz_##name(x, y, z, v);
    ADREV_OPS(ADX_CASE)
#undef ADX_CASE
    }
    return 0;
}

static bool adx_run_row(void *user, const int64_t x[], uint32_t var, int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_loop *l = e->loop;
    bool loop = var != UINT32_MAX;
    ad_real *out = e->out + adx_sparse_at(&l->out.place, x);
    const ad_real *from[3] = { adx_one, adx_one, adx_one };
    int64_t step[3] = { 0, 0, 0 };
    for (uint32_t f = 0; f < e->term->factors; f++) {
        from[f] = e->factor[f] + adx_sparse_at(&l->factor[f].place, x);
        step[f] = loop ? l->factor[f].step : 0;
    }
    bool partial = e->value->kind == ADX_VALUE_PARTIAL;
    for (int64_t i = 0; i < n; i++) {
        ad_real a = from[0][i * step[0]];
        ad_real b = from[1][i * step[1]];
        ad_real c = from[2][i * step[2]];
        ad_real v = adx_value_of((ad_opcode)e->value->op, a, b, c);
        out[loop ? i * l->out.step : 0] =
            partial ? adx_row_partial(e->value->op, e->value->which, a, b, c, v)
                    : v;
    }
    return true;
}

// The largest number, or the least; NaN where there is one.
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
        ad_real v = a[loop ? i * l->factor[0].step : 0];
        ad_real *to = &out[loop ? i * l->out.step : 0];
        if (v != v || (least ? v < *to : v > *to))
            *to = v;
    }
    return true;
}

static bool adx_begin_most(void *user, const int64_t x[], uint32_t var,
                           int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    ad_real *out = e->out + adx_sparse_at(&e->loop->out.place, x);
    int64_t step = var == UINT32_MAX ? 0 : e->loop->out.step;
    for (int64_t i = 0; i < n; i++)
        out[i * step] = e->value->op == ADREV_OP_min ? ADX_K(INFINITY)
                                                     : -ADX_K(INFINITY);
    return true;
}

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
        int64_t j = at + (loop ? i * l->at.step : 0);
        bool *done = &e->picked[j + most->first];
        if (*done || picked[loop ? i * l->picked.step : 0]
                     != e->base[e->term->most][j])
            continue;
        *done = true;
        ad_real *to = &out[loop ? i * l->out.step : 0];
        *to = adx_sum_with(e->t->options.fused, e->term->k,
                           from[loop ? i * l->factor[0].step : 0], *to);
    }
    return true;
}

static void adx_walk_term(adx_evaluating *e, const adx_tensor_term *term,
                          adx_point_fn *visit)
{
    e->term = term;
    e->loop = term->loop;
    for (uint32_t f = 0; f < term->factors; f++)
        e->factor[f] = e->base[term->factor[f].value];
    adx_walk_nest(term->loop->nest, e->x, visit, e);
}

// Makes 0 what is added to, or what is read without having been written.
static void adx_clear_value(adx_evaluating *e, const adx_tensor_value *v)
{
    uint64_t points = 0;
    for (uint32_t j = 0; j < v->terms; j++)
        points = v->term[j].loop->points > v->size ? v->size
               : points + v->term[j].loop->points;
    if (v->cleared || (!v->once && (v->full || points >= v->size / 4)))
        adx_clear_from(v, 0, e->out);
    else if (!v->once)
        for (uint32_t j = 0; j < v->terms; j++)
            adx_walk_term(e, &v->term[j], adx_clear_points);
}

// Memory of picks: a flag for each number.
static void adx_forget_picks(adx_evaluating *e, const adx_tensor_term *term)
{
    const adx_tensor_value *most = adx_tensor_value_at(e->t, term->most);
    memset(e->picked, 0, (size_t)most->span * sizeof *e->picked);
}

// False: the loops of the nest do it.
static bool adx_run_as_matrices(const adx_evaluating *e,
                                const adx_tensor_term *term)
{
    return term->loop->matrices != NULL
        && adx_run_matrices(e->t, term->loop->matrices, e->out,
                            e->base[term->factor[0].value],
                            e->base[term->factor[1].value]);
}

static void adx_run_value(adx_evaluating *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->t, value);
    uint32_t picking = 0;
    bool lacks = false;
    e->value = v;
    e->out = e->base[value];
    if (v->size == 0)
        return;
    for (uint32_t j = 0; j < v->terms; j++)
        lacks = lacks || adx_is_nothing(e, &v->term[j]);
    if (lacks)                  // what is not added is still read
        adx_clear_from(v, 0, e->out);
    else
        adx_clear_value(e, v);
    for (uint32_t j = 0; j < v->terms && v->kind == ADX_VALUE_MOST; j++)
        adx_walk_term(e, &v->term[j], adx_begin_most);
    for (uint32_t j = 0; j < v->terms; j++) {
        const adx_tensor_term *term = &v->term[j];
        if (adx_is_nothing(e, term) || adx_run_as_matrices(e, term))
            continue;
        if (term->most != 0 && term->most != picking)
            adx_forget_picks(e, term);
        picking = term->most;
        adx_walk_term(e, term, term->most != 0 ? adx_run_pick
                      : v->kind == ADX_VALUE_SUM ? adx_run_sum
                      : v->kind == ADX_VALUE_MOST ? adx_run_most : adx_run_row);
    }
}

/* === tensor/queries =========================================================
 * Binding, evaluations and counts: the interface.
 *
 *   needs   tape/memory tensor/api tensor/tree tensor/messages tensor/arena
 *           tensor/sets tensor/nests tensor/binding tensor/programs
 *           tensor/sharing tensor/lower tensor/formulas tensor/derive
 *           tensor/run
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- binding ------------------------------------------------------------- */

static void adx_not_given(ad_tensor *t, ad_tensor_error *error, adx_spot name,
                          const char *what)
{
    adx_lowering k = { t, error, NULL, NULL, 0, false };
    adx_misfit(&k, name.at, what, name);
}

// The sizes, maps and relations that are missing, or whose values are outside.
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
}

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
            adx_lowering k = { t, error, NULL, NULL, 0, false };
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
            adx_lowering k = { t, error, NULL, NULL, 0, false };
            adx_say_string(&s, "' has an entry twice: numbers ");
            adx_say_signed(&s, list[i - 1]);
            adx_say_string(&s, " and ");
            adx_say_signed(&s, list[i]);
            adx_misfit(&k, t->tree.relation[relation].name.at, "'%w%s",
                       t->tree.relation[relation].name, text);
            return;
        }
}

// Values for the arrays of the text.
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
        for (uint32_t j = columns; j < a->rank; j++, d++) {
            int64_t end = 0;
            if (!adx_dim_range(t, &tree->dim[a->first + j], &to->low[d], &end))
                adx_arena_fail(&t->arena, ADREV_ESHAPE);
            to->extent[d] = end - to->low[d];
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
    adx_lowering k = { t, error, row_of, value_of, 0, false };
    if (a->status == ADREV_OK)
        adx_make_arrays(t, value_of);
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
        if (status != ADREV_ESHAPE && error != NULL)
            adx_explain_status(error, status);
        adx_unbind_tensor(t);
    }
    return status;
}

/* --- evaluation ---------------------------------------------------------- */

// Arrays of the caller for an evaluation; any may be NULL.
typedef struct adx_tensor_arrays {
    const ad_real *const *x;
    const ad_real *const *v;
    const ad_real *const *w;
    ad_real *const *y;
    ad_real *const *dy;
    ad_real *const *dx;
    ad_real *const *hv;
} adx_tensor_arrays;

static void adx_need_results(adx_evaluating *e, const uint32_t value[],
                             uint32_t n, ad_real *const to[])
{
    for (uint32_t i = 0; to != NULL && i < n; i++)
        if (to[i] != NULL && value[i] != 0) {
            e->needed[value[i]] = true;
            e->base[value[i]] = to[i];
        }
}

static const ad_real *adx_given_array(const adx_tensor_value *v,
                                      const adx_tensor_arrays *a)
{
    const ad_real *const *from = v->kind == ADX_VALUE_INPUT ? a->x
                               : v->kind == ADX_VALUE_TANGENT_IN ? a->v : a->w;
    return from == NULL ? NULL : from[v->order];
}

// What the caller gives, where it is needed. False: an input is missing.
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
        e->base[i] = from == NULL && v->size > 0 ? NULL
                   : from == NULL ? (ad_real *)adx_one : (ad_real *)from;
    }
    return true;
}

// Results that nothing adds to are 0.
static void adx_clear_unmade(const adx_evaluating *e, const uint32_t value[],
                             const uint32_t like[], uint32_t n,
                             ad_real *const to[])
{
    for (uint32_t i = 0; to != NULL && i < n; i++)
        if (to[i] != NULL && value[i] == 0
            && adx_tensor_value_at(e->t, like[i])->size > 0)
            adx_clear_from(adx_tensor_value_at(e->t, like[i]), 0, to[i]);
}

// Numbers of memory for what is needed and is no array of the caller's.
static uint64_t adx_numbers_needed(const adx_tensor_program *p,
                                   const bool needed[], ad_real *const base[])
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->steps; i++)
        if (needed[p->order[i]] && (base == NULL || base[p->order[i]] == NULL))
            n += p->value[p->order[i]].span;
    return n;
}

static void adx_place_values(adx_evaluating *e)
{
    const adx_tensor_program *p = e->t->program;
    ad_real *at = e->memory;
    for (uint32_t i = 0; i < p->steps; i++) {
        const adx_tensor_value *v = &p->value[p->order[i]];
        if (!e->needed[p->order[i]] || e->base[p->order[i]] != NULL)
            continue;
        e->base[p->order[i]] = at + v->first;
        at += v->span;
    }
}

// False: no memory.
static bool adx_begin_evaluating(adx_evaluating *e, const adx_tensor_arrays *a)
{
    const adx_tensor_program *p = e->t->program;
    const ad_allocator *m = &e->t->memory;
    e->base = (ad_real **)adx_take(m, p->values, sizeof *e->base);
    e->needed = (bool *)adx_take(m, p->values, sizeof *e->needed);
    e->x = (int64_t *)adx_take(m, p->vars, sizeof *e->x);
    e->picked = (bool *)adx_take(m, (size_t)p->picks, sizeof *e->picked);
    if (e->base == NULL || e->needed == NULL || e->x == NULL
        || e->picked == NULL)
        return false;
    memset(e->base, 0, p->values * sizeof *e->base);
    memset(e->needed, 0, p->values * sizeof *e->needed);
    adx_need_results(e, p->out, e->t->tree.outs, a->y);
    adx_need_results(e, p->tangent_out, e->t->tree.outs, a->dy);
    adx_need_results(e, p->adjoint_in, e->t->tree.inputs, a->dx);
    adx_need_results(e, p->second_in, e->t->tree.inputs, a->hv);
    adx_need_all(p, e->needed);
    e->memory = (ad_real *)adx_take(m, (size_t)adx_numbers_needed(p, e->needed,
                                                                  e->base),
                                    sizeof *e->memory);
    return e->memory != NULL;
}

static void adx_end_evaluating(adx_evaluating *e)
{
    const ad_allocator *m = &e->t->memory;
    adx_drop(m, e->base);
    adx_drop(m, e->needed);
    adx_drop(m, e->x);
    adx_drop(m, e->picked);
    adx_drop(m, e->memory);
}

static ad_status adx_evaluate_tensor(ad_tensor *t, const adx_tensor_arrays *a)
{
    ad_status status = ad_tensor_bind(t, NULL);
    if (status != ADREV_OK)
        return status;
    const adx_tensor_program *p = t->program;
    adx_evaluating e = { .t = t };
    status = !adx_begin_evaluating(&e, a) ? ADREV_ENOMEM
           : !adx_take_given(&e, a) ? ADREV_ESHAPE : ADREV_OK;
    if (status == ADREV_OK) {
        adx_place_values(&e);
        for (uint32_t i = 0; i < p->steps; i++)
            if (e.needed[p->order[i]])
                adx_run_value(&e, p->order[i]);
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
    const adx_tensor_arrays a = { .x = x, .y = y };
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_jvp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const v[], ad_real *const y[],
                                ad_real *const dy[])
{
    const adx_tensor_arrays a = { .x = x, .v = v, .y = y, .dy = dy };
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_vjp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const w[], ad_real *const y[],
                                ad_real *const dx[])
{
    const adx_tensor_arrays a = { .x = x, .w = w, .y = y, .dx = dx };
    return adx_evaluate_tensor(t, &a);
}

ADX_API ad_status ad_tensor_gradient(ad_tensor *t, const ad_real *const x[],
                                     ad_real *f, ad_real *const g[])
{
    const ad_real *const w[] = { adx_one };
    ad_real *const y[] = { f };
    const adx_tensor_arrays a = { .x = x, .w = w, .y = y, .dx = g };
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
    const adx_tensor_arrays a = { .x = x, .v = v, .w = w, .hv = hv };
    ad_status status = t == NULL ? ADREV_ESHAPE : ad_tensor_bind(t, NULL);
    return status != ADREV_OK ? status
         : t->program->curved ? ADREV_EEXTERNAL : adx_evaluate_tensor(t, &a);
}

/* --- counts -------------------------------------------------------------- */

static bool adx_count_points(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    (void)x;
    (void)var;
    *(uint64_t *)user += (uint64_t)count;
    return true;
}

static uint64_t adx_points_of_term(const adx_tensor_term *term, int64_t x[])
{
    uint64_t n = 0;
    if (term->loop->points != UINT64_MAX)
        return term->loop->points;
    adx_walk_nest(term->loop->nest, x, adx_count_points, &n);
    return n;
}

// How many numbers are written. False: no memory.
static bool adx_count_written(const ad_tensor *t, const adx_tensor_value *v,
                              uint64_t *n)
{
    adx_arena a = { .memory = &t->memory };
    if (v->full || v->support != NULL) {
        *n = v->full ? v->size : v->support->set;
        return true;
    }
    const adx_bitmap *bits = adx_mark_written(&a, v);
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
    bool ok = v->once || adx_count_written(t, v, &distinct);
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

ADX_API ad_status ad_tensor_count(ad_tensor *t, ad_tensor_part part,
                                  const bool wanted[], ad_tensor_cost *cost)
{
    if (t == NULL || cost == NULL || part > ADREV_TENSOR_HVP)
        return ADREV_ESHAPE;
    ad_status status = ad_tensor_bind(t, NULL);
    if (status != ADREV_OK)
        return status;
    const adx_tensor_program *p = t->program;
    if (part == ADREV_TENSOR_HVP && p->curved)
        return ADREV_EEXTERNAL;
    const uint32_t *result = part == ADREV_TENSOR_VALUE ? p->out
                           : part == ADREV_TENSOR_JVP ? p->tangent_out
                           : part == ADREV_TENSOR_VJP ? p->adjoint_in
                           : p->second_in;
    uint32_t n = part >= ADREV_TENSOR_VJP ? t->tree.inputs : t->tree.outs;
    adx_evaluating e = { .t = t };
    e.needed = (bool *)adx_take(&t->memory, p->values, sizeof *e.needed);
    e.x = (int64_t *)adx_take(&t->memory, p->vars, sizeof *e.x);
    if (e.needed != NULL && e.x != NULL) {
        memset(e.needed, 0, p->values * sizeof *e.needed);
        memset(cost, 0, sizeof *cost);
        for (uint32_t i = 0; i < n; i++)
            if (result[i] != 0 && (wanted == NULL || wanted[i]))
                e.needed[result[i]] = true;
        adx_need_all(p, e.needed);
        for (uint32_t i = 0; i < p->steps; i++)
            if (e.needed[p->order[i]]
                && !adx_count_value(t, &p->value[p->order[i]], e.x, cost))
                status = ADREV_ENOMEM;
        for (uint32_t i = 0; i < t->tree.inputs; i++)
            cost->io += (size_t)p->value[p->input[i]].size;
        for (uint32_t i = 0; i < t->tree.outs; i++)
            cost->io += (size_t)p->value[p->out[i]].size;
        cost->work = (size_t)adx_numbers_needed(p, e.needed, NULL)
                   * sizeof(ad_real);
    } else
        status = ADREV_ENOMEM;
    adx_drop(&t->memory, e.needed);
    adx_drop(&t->memory, e.x);
    return status;
}

ADX_SELDOM_END

#endif // ADREV_TENSOR_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
