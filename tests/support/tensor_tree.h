// SPDX-License-Identifier: MIT-0
/* tensor_tree.h - tensor programs as trees, made by functions of C: the oracle
 * of adrev_tensor.h. It shares no code with the library and needs none of it.
 *
 *     tree_start(&t)                   an empty program; then sizes, inputs,
 *     tree_size(&t, "n", 4) ...        relations, maps, indices, expressions,
 *     tree_let(&t, ...)                and statements
 *     tree_print(&t, &text)            the program as text of the language
 *     tree_open(&r, &t, TREE_EXACT, 2)
 *     tree_run_at(&r, x, v, u)         values and derivatives, point by point
 *     tree_count(&t, TREE_BRACKETS)    operations by the cost model
 *
 * Everything is named by its number in one of the lists of the program, so
 * that a program is copied by an assignment. Nothing is optimised: a sum runs
 * over its whole box and asks the predicate at each point.
 *
 * Numbers are exact fractions or long doubles. With 2 parts they are duals,
 * v + v1 e; with 4 duals of duals, v + v1 e + v2 f + v12 ef, ee = ff = 0.   */

#ifndef ADREV_TESTS_TENSOR_TREE_H
#define ADREV_TESTS_TENSOR_TREE_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GNUC__
#define TREE_PRINTF(text, args) __attribute__((format(printf, text, args)))
#else
#define TREE_PRINTF(text, args)
#endif

enum {
    TREE_NAME = 8,
    TREE_SIZES = 8,
    TREE_INDICES = 48,
    TREE_AFFINES = 400,
    TREE_TERMS = 4,
    TREE_PREDS = 96,
    TREE_NODES = 200,
    TREE_DIMS = 4,
    TREE_TENSORS = 20,
    TREE_RELATIONS = 3,
    TREE_ENTRIES = 128,
    TREE_MAPS = 3,
    TREE_TEXT = 8192
};

/* --- the program ---------------------------------------------------------- */

typedef struct tree_size_of {
    char name[TREE_NAME];
    int value;
    bool named;             // the text says the name, not the number
} tree_size_of;

typedef struct tree_index_of {
    char name[TREE_NAME];
    int from, to;           // affine in sizes; half open
    bool implied;           // the text leaves the range out where it may
} tree_index_of;

// k + the sum of by * (an index, a size, or a map's value at an affine)
enum tree_term_kind { TREE_OF_INDEX, TREE_OF_SIZE, TREE_OF_MAP };

typedef struct tree_affine {
    int k;
    int terms;
    struct { enum tree_term_kind kind; int id, by, at; } term[TREE_TERMS];
} tree_affine;

// A text has an `or` of `and` of the others: the grammar has no parentheses.
enum tree_pred_kind { TREE_COMPARE, TREE_RELATED, TREE_AND, TREE_OR,
                      TREE_EXISTS };
enum tree_comparison { TREE_LT, TREE_LE, TREE_EQ, TREE_NE, TREE_GE, TREE_GT };

typedef struct tree_pred {
    enum tree_pred_kind kind;
    int n;                          // affines, or indices of exists
    int at[TREE_DIMS];
    enum tree_comparison is[2];     // between affines: a < b <= c
    int relation;
    int left, right;                // exists: left
} tree_pred;

enum tree_kind {
    TREE_NUMBER, TREE_READ, TREE_ADD, TREE_SUB, TREE_MUL, TREE_DIV, TREE_POW,
    TREE_SUM, TREE_MAXIMUM, TREE_MINIMUM, TREE_BRACKET, TREE_CALL,
    TREE_DETACH
};

typedef struct tree_node {
    enum tree_kind kind;
    int num, den;           // a number: 0 or more, over a power of two
    int tensor;             // read
    bool guarded;           // x?[..]
    int n;                  // affines of a read, indices of a sum
    int at[TREE_DIMS];
    int pred;               // of a bracket or sum; -1: none
    int whole;              // exponent, or row of a function
    int a, b, c;            // operands
} tree_node;

typedef struct tree_tensor {
    char name[TREE_NAME];
    bool input, out;
    bool gone;              // not printed, not counted: shrinking took it out
    int relation;           // numbers on its entries only; -1: dense
    int n;
    int from[TREE_DIMS];    // affine in sizes
    int to[TREE_DIMS];
    int index[TREE_DIMS];   // of a statement
    int body;
} tree_tensor;

typedef struct tree_relation {
    char name[TREE_NAME];
    bool gone;
    int n;
    int size[TREE_DIMS];    // affine in sizes
    int entries;
    int entry[TREE_DIMS][TREE_ENTRIES];     // column by column
} tree_relation;

typedef struct tree_map {
    char name[TREE_NAME];
    bool gone;
    int from, to;           // affine in sizes: of arguments, of values
    int value[TREE_ENTRIES];
} tree_map;

typedef struct tree {
    int sizes, indices, affines, preds, nodes, tensors, relations, maps;
    bool full;              // a list was too short: of no use
    tree_size_of size[TREE_SIZES];
    tree_index_of index[TREE_INDICES];
    tree_affine affine[TREE_AFFINES];
    tree_pred pred[TREE_PREDS];
    tree_node node[TREE_NODES];
    tree_tensor tensor[TREE_TENSORS];
    tree_relation relation[TREE_RELATIONS];
    tree_map map[TREE_MAPS];
} tree;

// A list of numbers in a call: its length, then its elements.
#define TREE_LIST(...)                                                      \
    (int)(sizeof (int[]){ __VA_ARGS__ } / sizeof(int)), (int[]){ __VA_ARGS__ }
#define TREE_NONE 0, NULL

/* --- making programs ------------------------------------------------------ */

static inline void tree_start(tree *t)
{
    memset(t, 0, sizeof *t);
}

// The next place of a list; the first again if there is none.
static inline int tree_next_place(tree *t, int *used, int most)
{
    if (*used < most)
        return (*used)++;
    t->full = true;
    return 0;
}

static inline void tree_called(char *to, const char *name)
{
    snprintf(to, TREE_NAME, "%s", name);
}

static inline int tree_size(tree *t, const char *name, int value)
{
    int i = tree_next_place(t, &t->sizes, TREE_SIZES);
    tree_called(t->size[i].name, name);
    t->size[i].value = value;
    t->size[i].named = true;
    return i;
}

// Affines.

static inline int tree_whole(tree *t, int k)
{
    int i = tree_next_place(t, &t->affines, TREE_AFFINES);
    memset(&t->affine[i], 0, sizeof t->affine[i]);
    t->affine[i].k = k;
    return i;
}

static inline int tree_one_term(tree *t, enum tree_term_kind kind, int id,
                                int at)
{
    int i = tree_whole(t, 0);
    t->affine[i].terms = 1;
    t->affine[i].term[0].kind = kind;
    t->affine[i].term[0].id = id;
    t->affine[i].term[0].by = 1;
    t->affine[i].term[0].at = at;
    return i;
}

static inline int tree_i(tree *t, int index)
{
    return tree_one_term(t, TREE_OF_INDEX, index, 0);
}

static inline int tree_n(tree *t, int size)
{
    return tree_one_term(t, TREE_OF_SIZE, size, 0);
}

static inline int tree_mapped(tree *t, int map, int at)
{
    return tree_one_term(t, TREE_OF_MAP, map, at);
}

// a + by * b
static inline int tree_plus(tree *t, int a, int by, int b)
{
    tree_affine sum = t->affine[a];
    const tree_affine *more = &t->affine[b];
    sum.k += by * more->k;
    for (int j = 0; j < more->terms; j++) {
        if (sum.terms == TREE_TERMS) {
            t->full = true;
            break;
        }
        sum.term[sum.terms] = more->term[j];
        sum.term[sum.terms++].by *= by;
    }
    int i = tree_whole(t, 0);
    t->affine[i] = sum;
    return i;
}

static inline int tree_shift(tree *t, int a, int k)
{
    int i = tree_whole(t, 0);
    t->affine[i] = t->affine[a];
    t->affine[i].k += k;
    return i;
}

static inline int tree_in(tree *t, const char *name, int from, int to)
{
    int i = tree_next_place(t, &t->indices, TREE_INDICES);
    tree_called(t->index[i].name, name);
    t->index[i].from = from;
    t->index[i].to = to;
    t->index[i].implied = false;
    return i;
}

// 0 <= name < size
static inline int tree_under(tree *t, const char *name, int size)
{
    return tree_in(t, name, tree_whole(t, 0), tree_n(t, size));
}

// Declarations.

static inline int tree_tensor_called(tree *t, const char *name)
{
    int i = tree_next_place(t, &t->tensors, TREE_TENSORS);
    memset(&t->tensor[i], 0, sizeof t->tensor[i]);
    tree_called(t->tensor[i].name, name);
    t->tensor[i].relation = -1;
    return i;
}

// An input over the sizes of a list.
static inline int tree_input(tree *t, const char *name, int n, const int *size)
{
    int i = tree_tensor_called(t, name);
    t->tensor[i].input = true;
    t->tensor[i].n = n;
    for (int d = 0; d < n; d++) {
        t->tensor[i].from[d] = tree_whole(t, 0);
        t->tensor[i].to[d] = tree_n(t, size[d]);
    }
    return i;
}

static inline int tree_input_from(tree *t, const char *name, int from, int to)
{
    int i = tree_tensor_called(t, name);
    t->tensor[i].input = true;
    t->tensor[i].n = 1;
    t->tensor[i].from[0] = from;
    t->tensor[i].to[0] = to;
    return i;
}

static inline int tree_relation_of(tree *t, const char *name, int n,
                                   const int *size)
{
    int i = tree_next_place(t, &t->relations, TREE_RELATIONS);
    memset(&t->relation[i], 0, sizeof t->relation[i]);
    tree_called(t->relation[i].name, name);
    t->relation[i].n = n;
    for (int d = 0; d < n; d++)
        t->relation[i].size[d] = tree_n(t, size[d]);
    return i;
}

static inline void tree_entry(tree *t, int relation, int n, const int *at)
{
    tree_relation *r = &t->relation[relation];
    int e = tree_next_place(t, &r->entries, TREE_ENTRIES);
    for (int d = 0; d < n; d++)
        r->entry[d][e] = at[d];
}

static inline int tree_input_on(tree *t, const char *name, int relation)
{
    const tree_relation *r = &t->relation[relation];
    int i = tree_tensor_called(t, name);
    t->tensor[i].input = true;
    t->tensor[i].relation = relation;
    t->tensor[i].n = r->n;
    for (int d = 0; d < r->n; d++) {
        t->tensor[i].from[d] = tree_whole(t, 0);
        t->tensor[i].to[d] = r->size[d];
    }
    return i;
}

static inline int tree_map_of(tree *t, const char *name, int from, int to)
{
    int i = tree_next_place(t, &t->maps, TREE_MAPS);
    memset(&t->map[i], 0, sizeof t->map[i]);
    tree_called(t->map[i].name, name);
    t->map[i].from = tree_n(t, from);
    t->map[i].to = tree_n(t, to);
    return i;
}

// name[indices] = body
static inline int tree_let(tree *t, const char *name, int n, const int *index,
                           int body)
{
    int i = tree_tensor_called(t, name);
    t->tensor[i].n = n;
    t->tensor[i].body = body;
    for (int d = 0; d < n; d++) {
        t->tensor[i].index[d] = index[d];
        t->tensor[i].from[d] = t->index[index[d]].from;
        t->tensor[i].to[d] = t->index[index[d]].to;
    }
    return i;
}

static inline int tree_out(tree *t, const char *name, int n, const int *index,
                           int body)
{
    int i = tree_let(t, name, n, index, body);
    t->tensor[i].out = true;
    return i;
}

// Expressions.

static inline int tree_node_of(tree *t, enum tree_kind kind, int a, int b)
{
    int i = tree_next_place(t, &t->nodes, TREE_NODES);
    memset(&t->node[i], 0, sizeof t->node[i]);
    t->node[i].kind = kind;
    t->node[i].pred = -1;
    t->node[i].a = a;
    t->node[i].b = b;
    return i;
}

static inline int tree_fraction(tree *t, int num, int den)
{
    int i = tree_node_of(t, TREE_NUMBER, 0, 0);
    t->node[i].num = num;
    t->node[i].den = den;
    return i;
}

static inline int tree_number_of(tree *t, int num)
{
    return tree_fraction(t, num, 1);
}

static inline int tree_read(tree *t, int tensor, int n, const int *at)
{
    int i = tree_node_of(t, TREE_READ, 0, 0);
    t->node[i].tensor = tensor;
    t->node[i].n = n;
    for (int d = 0; d < n; d++)
        t->node[i].at[d] = at[d];
    return i;
}

static inline int tree_guard(tree *t, int read)
{
    t->node[read].guarded = true;
    return read;
}

static inline int tree_add(tree *t, int a, int b)
{
    return tree_node_of(t, TREE_ADD, a, b);
}

static inline int tree_sub(tree *t, int a, int b)
{
    return tree_node_of(t, TREE_SUB, a, b);
}

static inline int tree_mul(tree *t, int a, int b)
{
    return tree_node_of(t, TREE_MUL, a, b);
}

static inline int tree_div(tree *t, int a, int b)
{
    return tree_node_of(t, TREE_DIV, a, b);
}

static inline int tree_pow(tree *t, int a, int whole)
{
    int i = tree_node_of(t, TREE_POW, a, 0);
    t->node[i].whole = whole;
    return i;
}

static inline int tree_bracket(tree *t, int pred, int a)
{
    int i = tree_node_of(t, TREE_BRACKET, a, 0);
    t->node[i].pred = pred;
    return i;
}

// A sum, maximum or minimum.
static inline int tree_over(tree *t, enum tree_kind kind, int n,
                            const int *index, int pred, int a)
{
    int i = tree_node_of(t, kind, a, 0);
    t->node[i].n = n;
    t->node[i].pred = pred;
    for (int d = 0; d < n; d++)
        t->node[i].at[d] = index[d];
    return i;
}

static inline int tree_sum(tree *t, int n, const int *index, int pred, int a)
{
    return tree_over(t, TREE_SUM, n, index, pred, a);
}

static inline int tree_detach(tree *t, int a)
{
    return tree_node_of(t, TREE_DETACH, a, 0);
}

// Predicates.

static inline int tree_pred_of(tree *t, enum tree_pred_kind kind, int n,
                               const int *at)
{
    int i = tree_next_place(t, &t->preds, TREE_PREDS);
    memset(&t->pred[i], 0, sizeof t->pred[i]);
    t->pred[i].kind = kind;
    t->pred[i].n = n;
    for (int d = 0; d < n; d++)
        t->pred[i].at[d] = at[d];
    return i;
}

static inline int tree_compare(tree *t, int a, enum tree_comparison is, int b)
{
    int i = tree_pred_of(t, TREE_COMPARE, TREE_LIST(a, b));
    t->pred[i].is[0] = is;
    return i;
}

// from <= a < to
static inline int tree_within(tree *t, int from, int a, int to)
{
    int i = tree_pred_of(t, TREE_COMPARE, TREE_LIST(from, a, to));
    t->pred[i].is[0] = TREE_LE;
    t->pred[i].is[1] = TREE_LT;
    return i;
}

static inline int tree_related(tree *t, int relation, int n, const int *at)
{
    int i = tree_pred_of(t, TREE_RELATED, n, at);
    t->pred[i].relation = relation;
    return i;
}

static inline int tree_and(tree *t, int left, int right)
{
    int i = tree_pred_of(t, TREE_AND, TREE_NONE);
    t->pred[i].left = left;
    t->pred[i].right = right;
    return i;
}

static inline int tree_or(tree *t, int left, int right)
{
    int i = tree_and(t, left, right);
    t->pred[i].kind = TREE_OR;
    return i;
}

static inline int tree_exists(tree *t, int n, const int *index, int pred)
{
    int i = tree_pred_of(t, TREE_EXISTS, n, index);
    t->pred[i].left = pred;
    return i;
}

/* --- functions ------------------------------------------------------------ */

// The exact ones are polynomials; the others are for long doubles, and have
// one argument.
typedef struct tree_function {
    const char *name;
    int arity;
    bool exact;
    long double (*value)(long double x);
    long double (*first)(long double x);    // derivatives
    long double (*second)(long double x);
} tree_function;

#define TREE_LN2 0.69314718055994530941723212145817657L
#define TREE_ROW(name, f, f1, f2)                                           \
    static inline long double tree_##name(long double x) { return f; }      \
    static inline long double tree_##name##_1(long double x) { return f1; } \
    static inline long double tree_##name##_2(long double x) { return f2; }
#define TREE_ROWS(ROW)                                                      \
    ROW( exp, expl(x), expl(x), expl(x) )                                   \
    ROW( sin, sinl(x), cosl(x), -sinl(x) )                                  \
    ROW( cos, cosl(x), -sinl(x), -cosl(x) )                                 \
    ROW( tanh, tanhl(x), 1 / (coshl(x) * coshl(x)),                         \
         -2 * tanhl(x) / (coshl(x) * coshl(x)) )                            \
    ROW( atan, atanl(x), 1 / (1 + x * x),                                   \
         -2 * x / ((1 + x * x) * (1 + x * x)) )                             \
    ROW( exp2, exp2l(x), exp2l(x) * TREE_LN2, exp2l(x) * TREE_LN2 * TREE_LN2 ) \
    ROW( asinh, asinhl(x), 1 / sqrtl(1 + x * x),                            \
         -x / ((1 + x * x) * sqrtl(1 + x * x)) )                            \
    ROW( log, logl(x), 1 / x, -1 / (x * x) )                                \
    ROW( sqrt, sqrtl(x), 0.5L / sqrtl(x), -0.25L / (x * sqrtl(x)) )
TREE_ROWS(TREE_ROW)

enum tree_function_row {
    TREE_SQR, TREE_NEG, TREE_FMA, TREE_EXACT_ROWS,
#define TREE_ROW_NUMBER(name, ...) TREE_ROW_##name,
    TREE_ROW_BEFORE = TREE_EXACT_ROWS - 1, TREE_ROWS(TREE_ROW_NUMBER)
    TREE_FUNCTIONS
};

static inline const tree_function *tree_function_at(int row)
{
    static const tree_function rows[] = {
        [TREE_SQR] = { "sqr", 1, true, NULL, NULL, NULL },
        [TREE_NEG] = { "neg", 1, true, NULL, NULL, NULL },
        [TREE_FMA] = { "fma", 3, true, NULL, NULL, NULL },
#define TREE_ROW_OF(name, ...)                                              \
        [TREE_ROW_##name] = { #name, 1, false, tree_##name,                 \
                              tree_##name##_1, tree_##name##_2 },
        TREE_ROWS(TREE_ROW_OF)
    };
    return &rows[row];
}

static inline int tree_call(tree *t, int row, int a, int b, int c)
{
    int i = tree_node_of(t, TREE_CALL, a, b);
    t->node[i].c = c;
    t->node[i].whole = row;
    return i;
}

/* --- text ----------------------------------------------------------------- */

typedef struct tree_text {
    size_t n;
    bool full;
    char s[TREE_TEXT];
} tree_text;

TREE_PRINTF(2, 3) static inline void tree_say(tree_text *o, const char *format,
                                              ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(o->s + o->n, TREE_TEXT - o->n, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= TREE_TEXT - o->n)
        o->full = true;
    else
        o->n += (size_t)n;
}

static inline void tree_print_affine(const tree *t, tree_text *o, int at);

static inline bool tree_mentions(const tree *t, int at, int size)
{
    const tree_affine *a = &t->affine[at];
    bool found = false;
    for (int j = 0; j < a->terms; j++)
        found = found || (a->term[j].kind == TREE_OF_SIZE
                          && a->term[j].id == size);
    return found;
}

// Whether the text has the name of a size, which is to be bound then: sizes are
// the names in declarations, so one that no declaration has is a number.
static inline bool tree_is_named(const tree *t, int size)
{
    bool found = false;
    for (int i = 0; i < t->tensors; i++)
        for (int d = 0; d < t->tensor[i].n && t->tensor[i].input; d++)
            if (!t->tensor[i].gone && t->tensor[i].relation < 0)
                found = found || tree_mentions(t, t->tensor[i].from[d], size)
                     || tree_mentions(t, t->tensor[i].to[d], size);
    for (int i = 0; i < t->relations; i++)
        for (int d = 0; d < t->relation[i].n && !t->relation[i].gone; d++)
            found = found || tree_mentions(t, t->relation[i].size[d], size);
    for (int i = 0; i < t->maps; i++)
        if (!t->map[i].gone)
            found = found || tree_mentions(t, t->map[i].from, size)
                 || tree_mentions(t, t->map[i].to, size);
    return found && t->size[size].named;
}

static inline void tree_print_term(const tree *t, tree_text *o,
                                   const tree_affine *a, int j)
{
    int id = a->term[j].id;
    int by = abs(a->term[j].by);
    if (a->term[j].kind == TREE_OF_SIZE && !tree_is_named(t, id)) {
        tree_say(o, "%d", by * t->size[id].value);
        return;
    }
    if (by != 1)
        tree_say(o, "%d*", by);
    switch (a->term[j].kind) {
    case TREE_OF_INDEX:
        tree_say(o, "%s", t->index[id].name);
        break;
    case TREE_OF_SIZE:
        tree_say(o, "%s", t->size[id].name);
        break;
    case TREE_OF_MAP:
        tree_say(o, "%s[", t->map[id].name);
        tree_print_affine(t, o, a->term[j].at);
        tree_say(o, "]");
        break;
    }
}

// A term that is added comes first, or else the constant: no leading minus.
static inline int tree_leading(const tree_affine *a)
{
    for (int j = 0; j < a->terms; j++)
        if (a->term[j].by > 0)
            return j;
    return -1;
}

static inline void tree_print_affine(const tree *t, tree_text *o, int at)
{
    const tree_affine *a = &t->affine[at];
    int first = tree_leading(a);
    if (first >= 0)
        tree_print_term(t, o, a, first);
    else if (a->k < 0)
        tree_say(o, "0-%d", -a->k);
    else
        tree_say(o, "%d", a->k);
    for (int j = 0; j < a->terms; j++)
        if (j != first && a->term[j].by != 0) {
            tree_say(o, "%s", a->term[j].by > 0 ? "+" : "-");
            tree_print_term(t, o, a, j);
        }
    if (first >= 0 && a->k != 0)
        tree_say(o, "%+d", a->k);
}

static inline void tree_print_affines(const tree *t, tree_text *o, int n,
                                      const int *at)
{
    for (int d = 0; d < n; d++) {
        if (d > 0)
            tree_say(o, ",");
        tree_print_affine(t, o, at[d]);
    }
}

// Equal in every size: the same constant and the same terms in this order.
static inline bool tree_same_affine(const tree *t, int at, int bt)
{
    const tree_affine *a = &t->affine[at];
    const tree_affine *b = &t->affine[bt];
    if (a->k != b->k || a->terms != b->terms)
        return false;
    for (int j = 0; j < a->terms; j++)
        if (a->term[j].kind != b->term[j].kind || a->term[j].id != b->term[j].id
            || a->term[j].by != b->term[j].by)
            return false;
    return true;
}

// i+j-j or i-n+3 with a number for n: whether that is an index alone is a
// matter of reading.
static inline bool tree_comes_to(const tree *t, const tree_affine *a, int index)
{
    int k = a->k;
    int by[TREE_INDICES] = { 0 };
    for (int j = 0; j < a->terms; j++) {
        int id = a->term[j].id;
        if (a->term[j].kind == TREE_OF_INDEX)
            by[id] += a->term[j].by;
        else if (a->term[j].kind == TREE_OF_SIZE && !tree_is_named(t, id))
            k += a->term[j].by * t->size[id].value;
    }
    for (int i = 0; i < TREE_INDICES; i++)
        if (by[i] != (i == index))
            return false;
    return k == 0;
}

// Where an index stands alone: 0 nowhere, 1 in its own range, 2 in another,
// too.
static inline int tree_alone(const tree *t, int index, int at, int from, int to,
                             int so_far)
{
    const tree_affine *a = &t->affine[at];
    const tree_index_of *x = &t->index[index];
    if (a->k != 0 || a->terms != 1 || a->term[0].kind != TREE_OF_INDEX
        || a->term[0].id != index || a->term[0].by != 1)
        return tree_comes_to(t, a, index) ? 2 : so_far;
    bool same = tree_same_affine(t, to, x->to)
             && (from < 0 ? t->affine[x->from].k == 0
                            && t->affine[x->from].terms == 0
                          : tree_same_affine(t, from, x->from));
    return same && so_far < 2 ? 1 : 2;
}

static inline int tree_alone_in_maps(const tree *t, int index, int at,
                                     int so_far)
{
    const tree_affine *a = &t->affine[at];
    for (int j = 0; j < a->terms; j++)
        if (a->term[j].kind == TREE_OF_MAP)
            so_far = tree_alone(t, index, a->term[j].at, -1,
                                t->map[a->term[j].id].from, so_far);
    return so_far;
}

static inline int tree_alone_in_pred(const tree *t, int index, int pred,
                                     int so_far)
{
    const tree_pred *p = &t->pred[pred];
    switch (p->kind) {
    case TREE_COMPARE:
        for (int d = 0; d < p->n; d++)
            so_far = tree_alone_in_maps(t, index, p->at[d], so_far);
        return so_far;
    case TREE_RELATED:
        for (int d = 0; d < p->n; d++) {
            so_far = tree_alone_in_maps(t, index, p->at[d], so_far);
            so_far = tree_alone(t, index, p->at[d], -1,
                                t->relation[p->relation].size[d], so_far);
        }
        return so_far;
    case TREE_EXISTS:
        return tree_alone_in_pred(t, index, p->left, so_far);
    default:
        so_far = tree_alone_in_pred(t, index, p->left, so_far);
        return tree_alone_in_pred(t, index, p->right, so_far);
    }
}

static inline int tree_operands(const tree_node *e)
{
    switch (e->kind) {
    case TREE_NUMBER: case TREE_READ:
        return 0;
    case TREE_ADD: case TREE_SUB: case TREE_MUL: case TREE_DIV:
        return 2;
    case TREE_CALL:
        return tree_function_at(e->whole)->arity;
    default:
        return 1;
    }
}

static inline int tree_operand(const tree_node *e, int j)
{
    return j == 0 ? e->a : j == 1 ? e->b : e->c;
}

// x?[i] says nothing of the range of i, but may contradict it.
static inline int tree_alone_in_read(const tree *t, int index,
                                     const tree_node *e, int so_far)
{
    const tree_tensor *x = &t->tensor[e->tensor];
    for (int d = 0; d < e->n; d++) {
        so_far = tree_alone_in_maps(t, index, e->at[d], so_far);
        int now = tree_alone(t, index, e->at[d], x->from[d], x->to[d], so_far);
        so_far = e->guarded && now == 1 ? so_far : now;
    }
    return so_far;
}

static inline int tree_alone_in(const tree *t, int index, int node, int so_far)
{
    const tree_node *e = &t->node[node];
    if (e->pred >= 0)
        so_far = tree_alone_in_pred(t, index, e->pred, so_far);
    if (e->kind == TREE_READ)
        return tree_alone_in_read(t, index, e, so_far);
    for (int j = 0; j < tree_operands(e); j++)
        so_far = tree_alone_in(t, index, tree_operand(e, j), so_far);
    return so_far;
}

// A number or a name, and 0 before it: all others are written from:to.
static inline bool tree_is_size(const tree *t, int from, int to)
{
    const tree_affine *a = &t->affine[from];
    const tree_affine *b = &t->affine[to];
    return a->k == 0 && a->terms == 0
        && ((b->terms == 0 && b->k >= 0)
            || (b->terms == 1 && b->k == 0 && b->term[0].by == 1));
}

static inline void tree_print_range(const tree *t, tree_text *o, int from,
                                    int to)
{
    if (!tree_is_size(t, from, to)) {
        tree_print_affine(t, o, from);
        tree_say(o, ":");
    }
    tree_print_affine(t, o, to);
}

// i, i<n or i in a:b
static inline void tree_print_binder(const tree *t, tree_text *o, int index,
                                     bool implied)
{
    const tree_index_of *i = &t->index[index];
    tree_say(o, "%s", i->name);
    if (implied && i->implied)
        return;
    if (tree_is_size(t, i->from, i->to)) {
        tree_say(o, "<");
        tree_print_affine(t, o, i->to);
        return;
    }
    tree_say(o, " in ");
    tree_print_affine(t, o, i->from);
    tree_say(o, ":");
    tree_print_affine(t, o, i->to);
}

static inline void tree_print_pred(const tree *t, tree_text *o, int pred)
{
    static const char *const is[] = { "<", "<=", "==", "!=", ">=", ">" };
    const tree_pred *p = &t->pred[pred];
    switch (p->kind) {
    case TREE_COMPARE:
        for (int d = 0; d < p->n; d++) {
            tree_print_affine(t, o, p->at[d]);
            if (d + 1 < p->n)
                tree_say(o, " %s ", is[p->is[d]]);
        }
        break;
    case TREE_RELATED:
        tree_say(o, "%s(", t->relation[p->relation].name);
        tree_print_affines(t, o, p->n, p->at);
        tree_say(o, ")");
        break;
    case TREE_EXISTS:
        tree_say(o, "exists(");
        for (int d = 0; d < p->n; d++) {
            tree_say(o, "%s", d > 0 ? "," : "");
            tree_print_binder(t, o, p->at[d],
                              tree_alone_in_pred(t, p->at[d], p->left, 0) == 1);
        }
        tree_say(o, ": ");
        tree_print_pred(t, o, p->left);
        tree_say(o, ")");
        break;
    default:
        tree_print_pred(t, o, p->left);
        tree_say(o, "%s", p->kind == TREE_AND ? ", " : " | ");
        tree_print_pred(t, o, p->right);
        break;
    }
}

// What binds how tightly: a sum of products of unaries of atoms.
enum { TREE_AS_SUM, TREE_AS_PRODUCT, TREE_AS_UNARY, TREE_AS_ATOM };

static inline int tree_level(const tree_node *e)
{
    switch (e->kind) {
    case TREE_ADD: case TREE_SUB:
        return TREE_AS_SUM;
    case TREE_MUL: case TREE_DIV:
        return TREE_AS_PRODUCT;
    case TREE_SUM: case TREE_MAXIMUM: case TREE_MINIMUM: case TREE_BRACKET:
    case TREE_POW:
        return TREE_AS_UNARY;
    default:
        return TREE_AS_ATOM;
    }
}

// A sum or bracket at the end takes in every factor that follows.
static inline bool tree_is_open(const tree *t, int node)
{
    const tree_node *e = &t->node[node];
    switch (e->kind) {
    case TREE_SUM: case TREE_MAXIMUM: case TREE_MINIMUM: case TREE_BRACKET:
        return true;
    case TREE_MUL: case TREE_DIV:
        return tree_is_open(t, e->b);
    default:
        return false;
    }
}

static inline void tree_print_node(const tree *t, tree_text *o, int node);

static inline void tree_print_at(const tree *t, tree_text *o, int node,
                                 int level, bool closed)
{
    bool within = tree_level(&t->node[node]) < level
               || (closed && tree_is_open(t, node));
    tree_say(o, "%s", within ? "(" : "");
    tree_print_node(t, o, node);
    tree_say(o, "%s", within ? ")" : "");
}

static inline void tree_print_two(const tree *t, tree_text *o,
                                  const tree_node *e)
{
    bool sum = tree_level(e) == TREE_AS_SUM;
    const char *sign = e->kind == TREE_ADD ? " + " : e->kind == TREE_SUB ? " - "
                     : e->kind == TREE_MUL ? "*" : "/";
    tree_print_at(t, o, e->a, tree_level(e), !sum);
    tree_say(o, "%s", sign);
    tree_print_at(t, o, e->b, tree_level(e) + 1, false);
}

static inline void tree_print_over(const tree *t, tree_text *o,
                                   const tree_node *e)
{
    tree_say(o, "%s(", e->kind == TREE_SUM ? "sum"
                     : e->kind == TREE_MAXIMUM ? "maximum" : "minimum");
    for (int d = 0; d < e->n; d++) {
        int alone = tree_alone_in(t, e->at[d], e->a, 0);
        if (e->pred >= 0)
            alone = tree_alone_in_pred(t, e->at[d], e->pred, alone);
        tree_say(o, "%s", d > 0 ? "," : "");
        tree_print_binder(t, o, e->at[d], alone == 1);
    }
    if (e->pred >= 0) {
        tree_say(o, ": ");
        tree_print_pred(t, o, e->pred);
    }
    tree_say(o, ") ");
    tree_print_at(t, o, e->a, TREE_AS_PRODUCT, false);
}

static inline void tree_print_read(const tree *t, tree_text *o,
                                   const tree_node *e)
{
    tree_say(o, "%s", t->tensor[e->tensor].name);
    if (e->n == 0)
        return;
    tree_say(o, "%s[", e->guarded ? "?" : "");
    tree_print_affines(t, o, e->n, e->at);
    tree_say(o, "]");
}

static inline void tree_print_list(const tree *t, tree_text *o,
                                   const tree_node *e, const char *name)
{
    tree_say(o, "%s(", name);
    for (int j = 0; j < tree_operands(e); j++) {
        tree_say(o, "%s", j > 0 ? ", " : "");
        tree_print_node(t, o, tree_operand(e, j));
    }
    tree_say(o, ")");
}

static inline void tree_print_node(const tree *t, tree_text *o, int node)
{
    const tree_node *e = &t->node[node];
    switch (e->kind) {
    case TREE_NUMBER:
        tree_say(o, "%.15g", (double)e->num / e->den);
        break;
    case TREE_READ:
        tree_print_read(t, o, e);
        break;
    case TREE_POW:
        tree_print_at(t, o, e->a, TREE_AS_ATOM, false);
        tree_say(o, "^%d", e->whole);
        break;
    case TREE_BRACKET:
        tree_say(o, "[");
        tree_print_pred(t, o, e->pred);
        tree_say(o, "] ");
        tree_print_at(t, o, e->a, TREE_AS_PRODUCT, false);
        break;
    case TREE_SUM: case TREE_MAXIMUM: case TREE_MINIMUM:
        tree_print_over(t, o, e);
        break;
    case TREE_CALL:
        tree_print_list(t, o, e, tree_function_at(e->whole)->name);
        break;
    case TREE_DETACH:
        tree_print_list(t, o, e, "detach");
        break;
    default:
        tree_print_two(t, o, e);
        break;
    }
}

static inline void tree_print_input(const tree *t, tree_text *o,
                                    const tree_tensor *x)
{
    tree_say(o, "in %s", x->name);
    for (int d = 0; d < x->n && x->relation < 0; d++) {
        tree_say(o, "%s", d > 0 ? "," : "[");
        tree_print_range(t, o, x->from[d], x->to[d]);
    }
    if (x->relation >= 0)
        tree_say(o, "[%s", t->relation[x->relation].name);
    tree_say(o, "%s;\n", x->n > 0 ? "]" : "");
}

static inline void tree_print_let(const tree *t, tree_text *o,
                                  const tree_tensor *x)
{
    tree_say(o, "%s%s", x->out ? "out " : "", x->name);
    for (int d = 0; d < x->n; d++) {
        tree_say(o, "%s", d > 0 ? "," : "[");
        tree_print_binder(t, o, x->index[d],
                          tree_alone_in(t, x->index[d], x->body, 0) == 1);
    }
    tree_say(o, "%s = ", x->n > 0 ? "]" : "");
    tree_print_node(t, o, x->body);
    tree_say(o, ";\n");
}

static inline void tree_print_relation(const tree *t, tree_text *o,
                                       const tree_relation *r)
{
    tree_say(o, "rel %s[", r->name);
    tree_print_affines(t, o, r->n, r->size);
    tree_say(o, "];\n");
}

static inline void tree_print_map(const tree *t, tree_text *o,
                                  const tree_map *m)
{
    tree_say(o, "map %s[", m->name);
    tree_print_affine(t, o, m->from);
    tree_say(o, "]->");
    tree_print_affine(t, o, m->to);
    tree_say(o, ";\n");
}

// One declaration or statement a line.
static inline void tree_print(const tree *t, tree_text *o)
{
    o->n = 0;
    o->s[0] = '\0';
    o->full = t->full;
    for (int i = 0; i < t->relations; i++)
        if (!t->relation[i].gone)
            tree_print_relation(t, o, &t->relation[i]);
    for (int i = 0; i < t->maps; i++)
        if (!t->map[i].gone)
            tree_print_map(t, o, &t->map[i]);
    for (int i = 0; i < t->tensors; i++)
        if (t->tensor[i].input && !t->tensor[i].gone)
            tree_print_input(t, o, &t->tensor[i]);
    for (int i = 0; i < t->tensors; i++)
        if (!t->tensor[i].input && !t->tensor[i].gone)
            tree_print_let(t, o, &t->tensor[i]);
}

/* --- numbers -------------------------------------------------------------- */

enum tree_mode { TREE_EXACT, TREE_WIDE };

__extension__ typedef __int128 tree_whole_number;

// No union: gcc 12 may copy one as a long double, which has 80 bits.
typedef struct tree_part {
    struct { tree_whole_number n, d; } q;   // d > 0, no common factor
    long double r;
} tree_part;

// v, and with duals v1, with duals of duals v2, v12
typedef struct tree_number { tree_part p[4]; } tree_number;

typedef struct tree_run {
    const tree *t;
    enum tree_mode mode;
    int parts;                      // 1, 2 or 4
    int index[TREE_INDICES];
    tree_number *at[TREE_TENSORS];
    bool *there[TREE_TENSORS];      // entries that are no structural zeros
    long work, most;                // points visited; where to give up
    bool overflow;                  // a fraction is too large
    bool outside;                   // a read or a map outside of its range
    bool undefined;                 // 1/0, a maximum of nothing
    bool too_long;
    long double largest;            // of all fractions: numerator, denominator
    char where[64];                 // the read that is outside
} tree_run;

// Numerators and denominators of at most 62 bits: a product fits, and so does
// the sum of two.
#define TREE_WIDEST ((tree_whole_number)1 << 62)

static inline tree_whole_number tree_abs(tree_whole_number x)
{
    return x < 0 ? -x : x;
}

static inline tree_part tree_reduced(tree_run *r, tree_whole_number n,
                                     tree_whole_number d)
{
    tree_part p = { .r = 0 };
    tree_whole_number a = tree_abs(n);
    tree_whole_number b = d;
    while (d != 1 && b != 0) {
        tree_whole_number rest = a % b;
        a = b;
        b = rest;
    }
    p.q.n = d != 1 ? n / a : n;
    p.q.d = d != 1 ? d / a : d;
    if (tree_abs(p.q.n) > TREE_WIDEST || p.q.d > TREE_WIDEST) {
        r->overflow = true;
        p.q.n = 0;
        p.q.d = 1;
    }
    r->largest = fmaxl(r->largest, (long double)tree_abs(p.q.n));
    r->largest = fmaxl(r->largest, (long double)p.q.d);
    return p;
}

static inline tree_part tree_part_of(const tree_run *r, long long n)
{
    tree_part p = { .r = 0 };
    if (r->mode == TREE_WIDE) {
        p.r = (long double)n;
        return p;
    }
    p.q.n = n;
    p.q.d = 1;
    return p;
}

static inline tree_part tree_part_add(tree_run *r, tree_part a, tree_part b)
{
    if (r->mode == TREE_WIDE) {
        a.r += b.r;
        return a;
    }
    return tree_reduced(r, a.q.n * b.q.d + b.q.n * a.q.d, a.q.d * b.q.d);
}

static inline tree_part tree_part_mul(tree_run *r, tree_part a, tree_part b)
{
    if (r->mode == TREE_WIDE) {
        a.r *= b.r;
        return a;
    }
    return tree_reduced(r, a.q.n * b.q.n, a.q.d * b.q.d);
}

static inline tree_part tree_part_inverse(tree_run *r, tree_part a)
{
    if (r->mode == TREE_WIDE) {
        a.r = 1 / a.r;
        return a;
    }
    if (a.q.n == 0) {
        r->undefined = true;
        return tree_part_of(r, 0);
    }
    bool minus = a.q.n < 0;
    return tree_reduced(r, minus ? -a.q.d : a.q.d, minus ? -a.q.n : a.q.n);
}

// A double is a whole number over a power of two.
static inline tree_part tree_part_double(tree_run *r, double x)
{
    tree_part p = { .r = 0 };
    long long d = 1;
    if (r->mode == TREE_WIDE) {
        p.r = (long double)x;
        return p;
    }
    while (x != floor(x) && d < (1LL << 40)) {
        x *= 2;
        d *= 2;
    }
    if (x != floor(x) || fabs(x) > 0x1p62) {
        r->overflow = true;
        x = 0;
    }
    return tree_reduced(r, (long long)x, d);
}

static inline long double tree_wide_of(const tree_run *r, tree_part p)
{
    if (r->mode == TREE_WIDE)
        return p.r;
    return (long double)p.q.n / (long double)p.q.d;
}

static inline tree_number tree_constant(const tree_run *r, long long n)
{
    tree_number x;
    for (int k = 0; k < 4; k++)
        x.p[k] = tree_part_of(r, k == 0 ? n : 0);
    return x;
}

static inline tree_number tree_plus_number(tree_run *r, tree_number a,
                                           tree_number b)
{
    for (int k = 0; k < r->parts; k++)
        a.p[k] = tree_part_add(r, a.p[k], b.p[k]);
    return a;
}

// Leibniz: the parts of k are shared between the factors in all ways.
static inline tree_number tree_times_number(tree_run *r, tree_number a,
                                            tree_number b)
{
    tree_number x = tree_constant(r, 0);
    for (int k = 0; k < r->parts; k++)
        for (int i = 0; i <= k; i++)
            if ((i & k) == i)
                x.p[k] = tree_part_add(r, x.p[k],
                                       tree_part_mul(r, a.p[i], b.p[k - i]));
    return x;
}

// f, f' and f'' at a, chained
static inline tree_number tree_chain(tree_run *r, tree_number a, tree_part f,
                                     tree_part f1, tree_part f2)
{
    tree_number x = a;
    x.p[0] = f;
    for (int k = 1; k < r->parts; k++)
        x.p[k] = tree_part_mul(r, f1, a.p[k]);
    if (r->parts == 4)
        x.p[3] = tree_part_add(
            r, x.p[3],
            tree_part_mul(r, f2, tree_part_mul(r, a.p[1], a.p[2])));
    return x;
}

static inline tree_number tree_inverse(tree_run *r, tree_number a)
{
    tree_part f = tree_part_inverse(r, a.p[0]);
    tree_part square = tree_part_mul(r, f, f);
    tree_part minus = tree_part_mul(r, tree_part_of(r, -1), square);
    tree_part two = tree_part_mul(r, tree_part_of(r, 2), f);
    return tree_chain(r, a, f, minus, tree_part_mul(r, two, square));
}

/* --- points --------------------------------------------------------------- */

static inline int tree_affine_at(tree_run *r, int at);

static inline int tree_map_at(tree_run *r, int map, int at)
{
    const tree_map *m = &r->t->map[map];
    int i = tree_affine_at(r, at);
    if (i < 0 || i >= tree_affine_at(r, m->from) || i >= TREE_ENTRIES) {
        r->outside = true;
        snprintf(r->where, sizeof r->where, "%s[%d]", m->name, i);
        return 0;
    }
    return m->value[i];
}

static inline int tree_affine_at(tree_run *r, int at)
{
    const tree_affine *a = &r->t->affine[at];
    int sum = a->k;
    for (int j = 0; j < a->terms; j++) {
        int id = a->term[j].id;
        int value = a->term[j].kind == TREE_OF_INDEX ? r->index[id]
                  : a->term[j].kind == TREE_OF_SIZE ? r->t->size[id].value
                  : tree_map_at(r, id, a->term[j].at);
        sum += a->term[j].by * value;
    }
    return sum;
}

static inline int tree_from(tree_run *r, int index)
{
    return tree_affine_at(r, r->t->index[index].from);
}

static inline int tree_to(tree_run *r, int index)
{
    return tree_affine_at(r, r->t->index[index].to);
}

// The first point of a box, if there is any; then each next one, the last
// index fastest.
static inline bool tree_first(tree_run *r, int n, const int *index)
{
    bool some = true;
    for (int d = 0; d < n; d++) {
        r->index[index[d]] = tree_from(r, index[d]);
        some = some && tree_from(r, index[d]) < tree_to(r, index[d]);
    }
    return some;
}

static inline bool tree_next(tree_run *r, int n, const int *index)
{
    for (int d = n - 1; d >= 0; d--) {
        if (++r->index[index[d]] < tree_to(r, index[d]))
            return true;
        r->index[index[d]] = tree_from(r, index[d]);
    }
    return false;
}

// One more point; false: enough.
static inline bool tree_goes_on(tree_run *r)
{
    r->too_long = r->too_long || ++r->work > r->most;
    return !r->too_long;
}

// The number of the entry, or -1.
static inline int tree_find(tree_run *r, int relation, const int *at)
{
    const tree_relation *rel = &r->t->relation[relation];
    for (int e = 0; e < rel->entries; e++) {
        bool same = true;
        for (int d = 0; d < rel->n; d++)
            same = same && rel->entry[d][e] == at[d];
        if (same)
            return e;
    }
    return -1;
}

static inline bool tree_holds(tree_run *r, int pred);

static inline bool tree_compares(int a, enum tree_comparison is, int b)
{
    switch (is) {
    case TREE_LT: return a < b;
    case TREE_LE: return a <= b;
    case TREE_EQ: return a == b;
    case TREE_NE: return a != b;
    case TREE_GE: return a >= b;
    default: return a > b;
    }
}

static inline bool tree_chain_holds(tree_run *r, const tree_pred *p)
{
    bool holds = true;
    for (int d = 0; d + 1 < p->n; d++)
        holds = holds && tree_compares(tree_affine_at(r, p->at[d]), p->is[d],
                                       tree_affine_at(r, p->at[d + 1]));
    return holds;
}

static inline bool tree_exists_at(tree_run *r, const tree_pred *p)
{
    bool found = false;
    bool more = tree_first(r, p->n, p->at);
    for (; more && !found && tree_goes_on(r); more = tree_next(r, p->n, p->at))
        found = tree_holds(r, p->left);
    return found;
}

static inline bool tree_holds(tree_run *r, int pred)
{
    int at[TREE_DIMS] = { 0 };
    const tree_pred *p = &r->t->pred[pred < 0 ? 0 : pred];
    if (pred < 0)
        return true;
    switch (p->kind) {
    case TREE_COMPARE:
        return tree_chain_holds(r, p);
    case TREE_RELATED:
        for (int d = 0; d < p->n; d++)
            at[d] = tree_affine_at(r, p->at[d]);
        return tree_find(r, p->relation, at) >= 0;
    case TREE_AND:
        return tree_holds(r, p->left) && tree_holds(r, p->right);
    case TREE_OR:
        return tree_holds(r, p->left) || tree_holds(r, p->right);
    default:
        return tree_exists_at(r, p);
    }
}

static inline int tree_extent(tree_run *r, const tree_tensor *x, int d)
{
    int n = tree_affine_at(r, x->to[d]) - tree_affine_at(r, x->from[d]);
    return n > 0 ? n : 0;
}

// How many numbers a tensor has.
static inline int tree_count_of(tree_run *r, int tensor)
{
    const tree_tensor *x = &r->t->tensor[tensor];
    int n = 1;
    if (x->relation >= 0)
        return r->t->relation[x->relation].entries;
    for (int d = 0; d < x->n; d++)
        n *= tree_extent(r, x, d);
    return n;
}

// Where an entry lies; -1: a structural zero, or outside, which is noted
// unless the read is guarded.
static inline int tree_place(tree_run *r, const tree_node *e)
{
    const tree_tensor *x = &r->t->tensor[e->tensor];
    int at[TREE_DIMS] = { 0 };
    int place = 0;
    for (int d = 0; d < e->n; d++) {
        at[d] = tree_affine_at(r, e->at[d]);
        int i = at[d] - tree_affine_at(r, x->from[d]);
        if (i < 0 || i >= tree_extent(r, x, d)) {
            r->outside = r->outside || !e->guarded;
            if (!e->guarded)
                snprintf(r->where, sizeof r->where, "%s, dimension %d: %d",
                         x->name, d, at[d]);
            return -1;
        }
        place = place * tree_extent(r, x, d) + i;
    }
    return x->relation >= 0 ? tree_find(r, x->relation, at) : place;
}

/* --- values --------------------------------------------------------------- */

static inline tree_number tree_value(tree_run *r, int node);

static inline tree_number tree_power(tree_run *r, tree_number a, int k)
{
    tree_number x = tree_constant(r, 1);
    for (int j = 0; j < k; j++)
        x = tree_times_number(r, x, a);
    return x;
}

static inline tree_number tree_scaled(tree_run *r, int by, tree_number a)
{
    return tree_times_number(r, tree_constant(r, by), a);
}

static inline tree_number tree_call_value(tree_run *r, const tree_node *e)
{
    const tree_function *f = tree_function_at(e->whole);
    tree_number a = tree_value(r, e->a);
    tree_part value[3] = { { .r = 0 } };
    switch (e->whole) {
    case TREE_SQR:
        return tree_times_number(r, a, a);
    case TREE_NEG:
        return tree_scaled(r, -1, a);
    case TREE_FMA:
        a = tree_times_number(r, a, tree_value(r, e->b));
        return tree_plus_number(r, a, tree_value(r, e->c));
    }
    r->undefined = r->undefined || r->mode == TREE_EXACT;
    if (r->mode == TREE_EXACT)
        return a;
    value[0].r = f->value(a.p[0].r);
    value[1].r = f->first(a.p[0].r);
    value[2].r = f->second(a.p[0].r);
    return tree_chain(r, a, value[0], value[1], value[2]);
}

static inline tree_number tree_sum_value(tree_run *r, const tree_node *e)
{
    tree_number sum = tree_constant(r, 0);
    bool more = tree_first(r, e->n, e->at);
    for (; more && tree_goes_on(r); more = tree_next(r, e->n, e->at))
        if (tree_holds(r, e->pred))
            sum = tree_plus_number(r, sum, tree_value(r, e->a));
    return sum;
}

static inline bool tree_less(const tree_run *r, tree_part a, tree_part b)
{
    if (r->mode == TREE_WIDE)
        return a.r < b.r;
    return a.q.n * b.q.d < b.q.n * a.q.d;
}

// The first of the largest or smallest: its derivative is that of the whole.
static inline tree_number tree_most_value(tree_run *r, const tree_node *e)
{
    tree_number best = tree_constant(r, 0);
    bool any = false;
    bool more = tree_first(r, e->n, e->at);
    for (; more && tree_goes_on(r); more = tree_next(r, e->n, e->at))
        if (tree_holds(r, e->pred)) {
            tree_number x = tree_value(r, e->a);
            if (!any || (e->kind == TREE_MAXIMUM
                         ? tree_less(r, best.p[0], x.p[0])
                         : tree_less(r, x.p[0], best.p[0])))
                best = x;
            any = true;
        }
    r->undefined = r->undefined || !any;
    return best;
}

static inline tree_number tree_fraction_value(tree_run *r, const tree_node *e)
{
    tree_number x = tree_constant(r, e->num);
    x.p[0] = tree_part_mul(r, x.p[0],
                           tree_part_inverse(r, tree_part_of(r, e->den)));
    return x;
}

static inline tree_number tree_detached(tree_run *r, tree_number a)
{
    tree_number x = tree_constant(r, 0);
    x.p[0] = a.p[0];
    return x;
}

static inline tree_number tree_value(tree_run *r, int node)
{
    const tree_node *e = &r->t->node[node];
    tree_number a;
    int place;
    switch (e->kind) {
    case TREE_NUMBER:
        return tree_fraction_value(r, e);
    case TREE_READ:
        place = tree_place(r, e);
        return place < 0 ? tree_constant(r, 0) : r->at[e->tensor][place];
    case TREE_ADD:
        a = tree_value(r, e->a);
        return tree_plus_number(r, a, tree_value(r, e->b));
    case TREE_SUB:
        a = tree_value(r, e->a);
        return tree_plus_number(r, a, tree_scaled(r, -1, tree_value(r, e->b)));
    case TREE_MUL:
        a = tree_value(r, e->a);
        return tree_times_number(r, a, tree_value(r, e->b));
    case TREE_DIV:
        a = tree_value(r, e->a);
        return tree_times_number(r, a, tree_inverse(r, tree_value(r, e->b)));
    case TREE_POW:
        return tree_power(r, tree_value(r, e->a), e->whole);
    case TREE_SUM:
        return tree_sum_value(r, e);
    case TREE_MAXIMUM: case TREE_MINIMUM:
        return tree_most_value(r, e);
    case TREE_BRACKET:
        return tree_holds(r, e->pred) ? tree_value(r, e->a)
                                      : tree_constant(r, 0);
    case TREE_CALL:
        return tree_call_value(r, e);
    default:
        return tree_detached(r, tree_value(r, e->a));
    }
}

/* --- the cost model ------------------------------------------------------- */

// What a structural zero is: how far zeros are followed.
enum tree_reading {
    // As the model is written: only a bracket that stands itself beneath a sum
    // or an addition (or in a bracket, or as the whole of an inner sum).
    TREE_LITERAL,
    // Brackets are pulled out of products and through sums, additions and
    // quotients, within one statement.
    TREE_BRACKETS,
    // And through reads: an entry that a statement leaves empty is a bracket
    // where it is read.
    TREE_SUPPORTS
};

typedef struct tree_cost {
    uint64_t add, mul, fn;
    bool there;             // no structural zero
} tree_cost;

/* Decisions where the model is silent. Counts are upper bounds: a library may
 * need fewer.
 *
 * x?[..] and x[..] of numbers on a relation are brackets around a read.
 * a - b is a + (-1) b: one addition where both are there, and one
 *     multiplication where b is. (So the counts with "-z as a multiplication".)
 * a / b counts as a multiplication; by which counter a library counts it is
 *     its own matter, so only totals are compared.
 * a^k is k - 1 multiplications.
 * maximum and minimum of t terms are t - 1 calls. A structural zero is a term
 *     like any other there, and a function's value at one is no zero.
 * A product with a structural zero costs nothing, its other factor neither:
 *     the bracket stands before the product.
 * detach costs nothing. Numbers are there, 0 among them.
 * Statements are lets: every entry of every one is computed, read or not.    */
static inline tree_cost tree_cost_of(tree_run *r, int node,
                                     enum tree_reading how);

static inline void tree_charge(tree_cost *to, const tree_cost *more)
{
    to->add += more->add;
    to->mul += more->mul;
    to->fn += more->fn;
}

static inline bool tree_is_bracket(const tree *t, const tree_node *e)
{
    return e->kind == TREE_BRACKET
        || (e->kind == TREE_READ
            && (e->guarded || t->tensor[e->tensor].relation >= 0));
}

static inline tree_cost tree_read_cost(tree_run *r, const tree_node *e,
                                       enum tree_reading how)
{
    tree_cost c = { .there = true };
    int place = tree_place(r, e);
    c.there = place >= 0
           && (how != TREE_SUPPORTS || r->there[e->tensor] == NULL
               || r->there[e->tensor][place]);
    return c;
}

static inline tree_cost tree_sum_cost(tree_run *r, const tree_node *e,
                                      enum tree_reading how)
{
    tree_cost c = { .there = false };
    bool more = tree_first(r, e->n, e->at);
    for (; more && tree_goes_on(r); more = tree_next(r, e->n, e->at)) {
        if (!tree_holds(r, e->pred))
            continue;
        tree_cost term = tree_cost_of(r, e->a, how);
        if (!term.there)
            continue;
        tree_charge(&c, &term);
        c.add += c.there;
        c.there = true;
    }
    return c;
}

static inline tree_cost tree_most_cost(tree_run *r, const tree_node *e,
                                       enum tree_reading how)
{
    tree_cost c = { .there = false };
    bool more = tree_first(r, e->n, e->at);
    for (; more && tree_goes_on(r); more = tree_next(r, e->n, e->at))
        if (tree_holds(r, e->pred)) {
            tree_cost term = tree_cost_of(r, e->a, how);
            tree_charge(&c, &term);
            c.fn += c.there;
            c.there = true;
        }
    return c;
}

static inline tree_cost tree_add_cost(tree_run *r, const tree_node *e,
                                      enum tree_reading how)
{
    tree_cost c = tree_cost_of(r, e->a, how);
    tree_cost b = tree_cost_of(r, e->b, how);
    if (how == TREE_LITERAL) {
        c.there = c.there || !tree_is_bracket(r->t, &r->t->node[e->a]);
        b.there = b.there || !tree_is_bracket(r->t, &r->t->node[e->b]);
    }
    tree_charge(&c, &b);
    c.add += c.there && b.there;
    c.mul += e->kind == TREE_SUB && b.there;
    c.there = c.there || b.there || how == TREE_LITERAL;
    return c;
}

static inline tree_cost tree_product_cost(tree_run *r, const tree_node *e,
                                          enum tree_reading how)
{
    const tree_cost nothing = { .there = false };
    tree_cost c = tree_cost_of(r, e->a, how);
    tree_cost b = tree_cost_of(r, e->b, how);
    bool zero = !c.there || (e->kind == TREE_MUL && !b.there);
    if (zero && how != TREE_LITERAL)
        return nothing;
    tree_charge(&c, &b);
    c.mul++;
    c.there = true;
    return c;
}

static inline tree_cost tree_call_cost(tree_run *r, const tree_node *e,
                                       enum tree_reading how)
{
    tree_cost c = { .fn = 1, .there = true };
    for (int j = 0; j < tree_operands(e); j++) {
        tree_cost a = tree_cost_of(r, tree_operand(e, j), how);
        tree_charge(&c, &a);
    }
    return c;
}

static inline tree_cost tree_power_cost(tree_run *r, const tree_node *e,
                                        enum tree_reading how)
{
    tree_cost c = tree_cost_of(r, e->a, how);
    if (!c.there && how != TREE_LITERAL && e->whole > 0)
        return c;
    c.mul += e->whole > 1 ? (unsigned)(e->whole - 1) : 0;
    c.there = true;
    return c;
}

static inline tree_cost tree_cost_of(tree_run *r, int node,
                                     enum tree_reading how)
{
    const tree_cost nothing = { .there = false };
    const tree_cost free_of_charge = { .there = true };
    const tree_node *e = &r->t->node[node];
    switch (e->kind) {
    case TREE_NUMBER:
        return free_of_charge;
    case TREE_READ:
        return tree_read_cost(r, e, how);
    case TREE_ADD: case TREE_SUB:
        return tree_add_cost(r, e, how);
    case TREE_MUL: case TREE_DIV:
        return tree_product_cost(r, e, how);
    case TREE_POW:
        return tree_power_cost(r, e, how);
    case TREE_SUM:
        return tree_sum_cost(r, e, how);
    case TREE_MAXIMUM: case TREE_MINIMUM:
        return tree_most_cost(r, e, how);
    case TREE_BRACKET:
        return tree_holds(r, e->pred) ? tree_cost_of(r, e->a, how) : nothing;
    case TREE_CALL:
        return tree_call_cost(r, e, how);
    default:
        return tree_cost_of(r, e->a, how);
    }
}

/* --- runs ----------------------------------------------------------------- */

static inline bool tree_good(const tree_run *r)
{
    return !r->t->full && !r->overflow && !r->outside && !r->undefined
        && !r->too_long;
}

static inline void *tree_get(size_t n, size_t size)
{
    void *p = calloc(n > 0 ? n : 1, size);
    if (p == NULL)
        exit(EXIT_FAILURE);
    return p;
}

static inline void tree_open(tree_run *r, const tree *t, enum tree_mode mode,
                             int parts)
{
    memset(r, 0, sizeof *r);
    r->t = t;
    r->mode = mode;
    r->parts = parts;
    r->most = 20000000;
    for (int i = 0; i < t->tensors; i++)
        r->at[i] = tree_get((size_t)tree_count_of(r, i), sizeof(tree_number));
}

static inline void tree_close(tree_run *r)
{
    for (int i = 0; i < r->t->tensors; i++) {
        free(r->at[i]);
        free(r->there[i]);
    }
}

static inline void tree_set(tree_run *r, int tensor, int k,
                            const double *const part[3])
{
    tree_number x = tree_constant(r, 0);
    for (int p = 0; p < 3; p++)
        if (part[p] != NULL)
            x.p[p] = tree_part_double(r, part[p][k]);
    r->at[tensor][k] = x;
}

static inline void tree_run_let(tree_run *r, int tensor)
{
    const tree_tensor *x = &r->t->tensor[tensor];
    int k = 0;
    bool more = tree_first(r, x->n, x->index);
    for (; more && tree_goes_on(r); more = tree_next(r, x->n, x->index)) {
        tree_number value = tree_value(r, x->body);
        r->at[tensor][k++] = value;
    }
}

// The statements, once the inputs are there.
static inline bool tree_run_lets(tree_run *r)
{
    for (int i = 0; i < r->t->tensors && tree_good(r); i++)
        if (!r->t->tensor[i].input && !r->t->tensor[i].gone)
            tree_run_let(r, i);
    return tree_good(r);
}

// Runs the program at x, one array for each input that is not gone, in the
// order of their declarations; along v, and u; NULL: zeros. False: of no use,
// and the run says why. Results are r->at[tensor][entry].p[part].
static inline bool tree_run_at(tree_run *r, const double *const x[],
                               const double *const v[], const double *const u[])
{
    int input = 0;
    for (int i = 0; i < r->t->tensors; i++) {
        if (!r->t->tensor[i].input || r->t->tensor[i].gone)
            continue;
        const double *const part[3] = { x[input], v ? v[input] : NULL,
                                        u ? u[input] : NULL };
        for (int k = 0; k < tree_count_of(r, i); k++)
            tree_set(r, i, k, part);
        input++;
    }
    return tree_run_lets(r);
}

static inline long double tree_at(const tree_run *r, int tensor, int entry,
                                  int part)
{
    return tree_wide_of(r, r->at[tensor][entry].p[part]);
}

static inline tree_cost tree_let_cost(tree_run *r, int tensor,
                                      enum tree_reading how)
{
    const tree_tensor *x = &r->t->tensor[tensor];
    tree_cost sum = { .there = true };
    int k = 0;
    r->there[tensor] = tree_get((size_t)tree_count_of(r, tensor), sizeof(bool));
    bool more = tree_first(r, x->n, x->index);
    for (; more && tree_goes_on(r); more = tree_next(r, x->n, x->index)) {
        tree_cost c = tree_cost_of(r, x->body, how);
        tree_charge(&sum, &c);
        r->there[tensor][k++] = c.there;
    }
    return sum;
}

// What a program costs; `there` is false where that was given up.
static inline tree_cost tree_count(const tree *t, enum tree_reading how)
{
    tree_run r;
    tree_cost sum = { .there = true };
    tree_open(&r, t, TREE_EXACT, 1);
    for (int i = 0; i < t->tensors; i++)
        if (!t->tensor[i].input && !t->tensor[i].gone) {
            tree_cost c = tree_let_cost(&r, i, how);
            tree_charge(&sum, &c);
        }
    sum.there = tree_good(&r);
    tree_close(&r);
    return sum;
}

static inline uint64_t tree_total(const tree_cost *c)
{
    return c->add + c->mul + c->fn;
}

// Numbers of the inputs and of the results together.
static inline long tree_inputs_and_results(const tree *t)
{
    tree_run r;
    long sum = 0;
    tree_open(&r, t, TREE_EXACT, 1);
    for (int i = 0; i < t->tensors; i++)
        if (!t->tensor[i].gone && (t->tensor[i].input || t->tensor[i].out))
            sum += tree_count_of(&r, i);
    tree_close(&r);
    return sum;
}

/* --- derivatives ---------------------------------------------------------- */

// The sum of seed * part over all results; w has one array for each, in their
// order.
static inline tree_part tree_seeded(tree_run *r, const double *const w[],
                                    int part)
{
    tree_part sum = tree_part_of(r, 0);
    int out = 0;
    for (int i = 0; i < r->t->tensors; i++) {
        if (!r->t->tensor[i].out || r->t->tensor[i].gone)
            continue;
        for (int k = 0; k < tree_count_of(r, i) && w[out] != NULL; k++)
            sum = tree_part_add(r, sum,
                                tree_part_mul(r, r->at[i][k].p[part],
                                              tree_part_double(r, w[out][k])));
        out++;
    }
    return sum;
}

// J' w, one number of the inputs at a time, by the dual that is 1 there:
// one part, or with parts = 4 and u along u (H u, the derivative of J' w).
// g has one array for each input; false as for tree_run_at.
static inline bool tree_gradient(tree_run *r, const double *const x[],
                                 const double *const w[],
                                 const double *const u[],
                                 long double *const g[])
{
    int input = 0;
    int part = u != NULL ? 3 : 1;
    bool good = tree_run_at(r, x, NULL, u);
    for (int i = 0; i < r->t->tensors && good; i++) {
        if (!r->t->tensor[i].input || r->t->tensor[i].gone)
            continue;
        for (int k = 0; k < tree_count_of(r, i) && good; k++) {
            r->at[i][k].p[1] = tree_part_of(r, 1);
            good = tree_run_lets(r);
            if (g[input] != NULL)
                g[input][k] = tree_wide_of(r, tree_seeded(r, w, part));
            r->at[i][k].p[1] = tree_part_of(r, 0);
        }
        input++;
    }
    return good;
}

#endif
