/* Made from src/ by `make headers`: changes belong there. */
/* adrev_tensor.h - formulas over indexed arrays.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_tensor.h"
 *
 * A text declares arrays and gives formulas:
 *
 *     in A[m,n], x[n], b[m];
 *     r[i] = sum(j) A[i,j]*x[j] - b[i];
 *     out f = 0.5*sum(i) r[i]^2;
 *
 * ad_tensor_new reads it, and says what is wrong and where:
 *
 *     2:26: 'j' runs over another range here than before
 *         out y[i] = sum(j) A[j,i]*x[j];
 *                                  ^
 *
 * The language is described in docs/tensor-language.md.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   tensor/api tensor/tree tensor/messages tensor/scan tensor/decimal
 *   tensor/names tensor/forms tensor/conditions tensor/expressions
 *   tensor/syntax tensor/print
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
    bool as_written;        // sums and products in no other order than the
                            // text's
    bool fused;             // a*b + c in one rounding where the processor can
    void (*gemm)(size_t m, size_t k, size_t n, const ad_real *A, ptrdiff_t ars,
                 ptrdiff_t acs, const ad_real *B, ptrdiff_t brs, ptrdiff_t bcs,
                 ad_real *C, ptrdiff_t crs, ptrdiff_t ccs);
                            // NULL: the header's own
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
//                fit; ADREV_ENOMEM
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
 *   cost         the multiples of the program's own cost that the theorem of
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
ADX_API ad_status ad_tensor_hvp(ad_tensor *t, const ad_real *const x[],
                                const ad_real *const w[],
                                const ad_real *const v[], ad_real *const hv[]);

// y = f(x) on recorded numbers: one statement of the current tape.
ADX_API ad_status ad_tensor_call(ad_tensor *t, const ad_rev *const x[],
                                 ad_rev *const y[]);

/* --- what it takes ------------------------------------------------------- */

// Counts the operations of a part without computing it.
//
//   wanted       in    which results of the part are wanted, in their order;
//                      NULL: all
ADX_API ad_status ad_tensor_count(ad_tensor *t, ad_tensor_part part,
                                  const bool wanted[], ad_tensor_cost *cost);

// The text after each step of its translation, and the loops that it ends in,
// in words.
ADX_API ad_status ad_tensor_explain(ad_tensor *t, ad_tensor_part part,
                                    ad_write_fn *write, void *user);

#ifdef ADREV_CODE_H
// Machine code for all parts; see ad_fn_compile, whose options these are.
ADX_API ad_status ad_tensor_compile(ad_tensor *t,
                                    const ad_compile_options *options);

// C99 without malloc; see ad_fn_write_c.
ADX_API ad_status ad_tensor_write_c(ad_tensor *t, const ad_c_options *options,
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
 *   needs   tape/memory tensor/api
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

// A text with its tree; later rooms add what it is bound to.
struct ad_tensor {
    ad_allocator memory;
    ad_tensor_options options;
    adx_tree tree;
};

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
 *   offers  adx_character adx_is_shown adx_locate adx_explain_at
 *           adx_explain_status
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
 *   offers  adx_declared_at adx_kind_text adx_line_of adx_new_name adx_declare
 *           adx_size_at_hand adx_same_text adx_unknown_name adx_bound_at
 *           adx_bind_index adx_unbind adx_stands_at
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

#endif // ADREV_TENSOR_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
