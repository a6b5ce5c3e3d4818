#pragma once

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
