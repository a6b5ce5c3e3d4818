// SPDX-License-Identifier: MIT-0
/* tensor_random.h - random tensor programs, and smaller ones that still fail.
 *
 *     draw_program(&t, &seed, DRAW_EXACT)   a program; false: of no use, to be
 *                                           counted and thrown away
 *     draw_point_of(&t, seed, &p)           inputs, directions and seeds: small
 *                                           whole numbers
 *     draw_shrink(&t, fails, user)          as small as it gets while it fails
 *
 * Up to 4 statements of depth up to 4 over sizes up to 3: shifted ranges,
 * affine indices, predicates, relations, maps, several results. Every read is
 * inside for all points of its box, or guarded: by x?[..] or by a bracket.   */

#ifndef ADREV_TESTS_TENSOR_RANDOM_H
#define ADREV_TESTS_TENSOR_RANDOM_H

#include "tensor_tree.h"

enum {
    DRAW_SCOPE = 10,
    DRAW_ARRAYS = 12,
    DRAW_NUMBERS = 128
};

enum draw_kind {
    DRAW_AFFINE,        // + - * sums and brackets, no data in predicates
    DRAW_EXACT,         // and relations, maps, powers, polynomials, maxima
    DRAW_WIDE           // and functions and quotients: long doubles
};

typedef struct draw {
    tree *t;
    uint64_t *seed;
    enum draw_kind kind;
    int scope[DRAW_SCOPE];      // indices whose values are known here
    int depth;                  // of scope
    int used[DRAW_SCOPE];       // indices of this statement
    int names;
    int readable;               // tensors
    int inputs;                 // of these
    bool outermost;             // the whole of a statement: no plain read
} draw;

/* --- chance --------------------------------------------------------------- */

static inline uint64_t draw_mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int draw_below(draw *d, int n)
{
    *d->seed += 0x9e3779b97f4a7c15u;
    return (int)(draw_mixed(*d->seed) % (unsigned)n);
}

static inline bool draw_one_in(draw *d, int n)
{
    return draw_below(d, n) == 0;
}

/* --- affine indices ------------------------------------------------------- */

// The value of an affine of sizes.
static inline int draw_known(const tree *t, int at)
{
    tree_run r = { .t = t };
    return tree_affine_at(&r, at);
}

// The least and largest value in the box of the scope.
static inline void draw_interval(const tree *t, int at, int *low, int *high)
{
    const tree_affine *a = &t->affine[at];
    *low = *high = a->k;
    for (int j = 0; j < a->terms; j++) {
        int id = a->term[j].id;
        int from = 0;
        int last = 0;
        if (a->term[j].kind == TREE_OF_INDEX) {
            from = draw_known(t, t->index[id].from);
            last = draw_known(t, t->index[id].to) - 1;
        } else if (a->term[j].kind == TREE_OF_MAP)
            last = draw_known(t, t->map[id].to) - 1;
        else
            from = last = t->size[id].value;
        int by = a->term[j].by;
        *low += by * (by > 0 ? from : last);
        *high += by * (by > 0 ? last : from);
    }
}

static inline bool draw_fits(const tree *t, int at, int from, int to)
{
    int low, high;
    draw_interval(t, at, &low, &high);
    return low >= draw_known(t, from) && high < draw_known(t, to);
}

static inline int draw_index_here(draw *d)
{
    return d->scope[draw_below(d, d->depth)];
}

// map[i], where i suits the map; else the constant 0
static inline int draw_mapped(draw *d)
{
    tree *t = d->t;
    int map = draw_below(d, t->maps);
    int at = tree_i(t, draw_index_here(d));
    bool fits = draw_fits(t, at, tree_whole(t, 0), t->map[map].from);
    return fits ? tree_mapped(t, map, at) : tree_whole(t, 0);
}

static inline int draw_affine(draw *d)
{
    tree *t = d->t;
    int pick = draw_below(d, 20);
    if (d->depth == 0 || pick == 0)
        return tree_whole(t, draw_below(d, 3));
    if (pick < 11)
        return tree_i(t, draw_index_here(d));
    if (pick < 13 && t->maps > 0)
        return draw_mapped(d);
    int a = tree_whole(t, draw_below(d, 5) - 2);
    int by = draw_one_in(d, 4) ? 2 : 1;
    a = tree_plus(t, a, by, tree_i(t, draw_index_here(d)));
    by = draw_one_in(d, 2) ? -1 : 1;
    if (pick < 18)
        a = tree_plus(t, a, by, tree_i(t, draw_index_here(d)));
    if (pick == 19)
        a = tree_plus(t, a, by, tree_n(t, draw_below(d, t->sizes)));
    return a;
}

// An affine for a dimension, shifted inside where its box is small enough.
static inline int draw_at(draw *d, int from, int to)
{
    tree *t = d->t;
    int low, high;
    int a = draw_affine(d);
    draw_interval(t, a, &low, &high);
    int slack = draw_known(t, to) - draw_known(t, from) - 1 - (high - low);
    if (draw_fits(t, a, from, to) || slack < 0 || draw_one_in(d, 6))
        return a;
    return tree_shift(t, a, draw_known(t, from) - low
                            + draw_below(d, slack + 1));
}

/* --- ranges --------------------------------------------------------------- */

static inline void draw_range(draw *d, int *from, int *to)
{
    tree *t = d->t;
    int n = draw_below(d, t->sizes);
    int pick = draw_below(d, 10);
    *from = tree_whole(t, pick == 0 ? -1 : pick == 1 ? 1 : 0);
    *to = tree_n(t, n);
    if (pick == 2)
        *from = tree_plus(t, tree_whole(t, 1), -1, *to);
    if (pick == 3)
        *to = tree_shift(t, *to, 1);
    if (draw_known(t, *from) > draw_known(t, *to))
        *from = *to;                        // no range is less than empty
}

// A new index over a range; or one of this statement again that is not in
// scope.
static inline int draw_index(draw *d)
{
    static const char *const names[] = { "i", "j", "k", "l", "p", "q", "s",
                                         "u", "v", "w" };
    int from, to;
    int again = d->names > 0 ? d->used[draw_below(d, d->names)] : -1;
    for (int j = 0; j < d->depth; j++)
        if (d->scope[j] == again)
            again = -1;
    if (again >= 0 && (d->names == DRAW_SCOPE || draw_one_in(d, 2)))
        return again;
    if (d->names == DRAW_SCOPE) {
        d->t->full = true;
        return 0;
    }
    draw_range(d, &from, &to);
    int i = tree_in(d->t, names[d->names], from, to);
    d->t->index[i].implied = draw_one_in(d, 2);
    return d->used[d->names++] = i;
}

// Opens n indices; the caller takes them out of scope again.
static inline void draw_open(draw *d, int n, int *index)
{
    for (int j = 0; j < n; j++) {
        index[j] = draw_index(d);
        if (d->depth < DRAW_SCOPE)
            d->scope[d->depth++] = index[j];
        else
            d->t->full = true;
    }
}

/* --- predicates ----------------------------------------------------------- */

static inline int draw_pred(draw *d, int depth);

static inline int draw_relates(draw *d, int relation)
{
    int at[TREE_DIMS] = { 0 };
    tree *t = d->t;
    bool fits = true;
    const tree_relation *r = &t->relation[relation];
    for (int j = 0; j < r->n; j++) {
        at[j] = draw_at(d, tree_whole(t, 0), r->size[j]);
        fits = fits && draw_fits(t, at[j], tree_whole(t, 0), r->size[j]);
    }
    return fits ? tree_related(t, relation, r->n, at) : -1;
}

static inline int draw_comparison(draw *d)
{
    tree *t = d->t;
    int a = draw_affine(d);
    int b = draw_affine(d);
    if (draw_one_in(d, 8))
        return tree_within(t, b, a, draw_affine(d));
    if (draw_one_in(d, 4)) {            // often true
        b = tree_whole(t, draw_below(d, 3) - 2);
        return tree_within(t, b, a, tree_whole(t, 2 + draw_below(d, 4)));
    }
    return tree_compare(t, a, (enum tree_comparison)draw_below(d, 6), b);
}

static inline int draw_atom(draw *d, int depth)
{
    tree *t = d->t;
    int pick = draw_below(d, 8);
    int index[2] = { 0 };
    if (pick < 2 && t->relations > 0) {
        int p = draw_relates(d, draw_below(d, t->relations));
        if (p >= 0)
            return p;
    }
    if (pick == 2 && depth > 0) {
        int n = 1 + draw_one_in(d, 4);
        draw_open(d, n, index);
        int p = draw_pred(d, depth - 1);
        d->depth -= n;
        return tree_exists(t, n, index, p);
    }
    return draw_comparison(d);
}

static inline int draw_conjunction(draw *d, int depth)
{
    int p = draw_atom(d, depth);
    while (draw_one_in(d, 3))
        p = tree_and(d->t, p, draw_atom(d, depth));
    return p;
}

static inline int draw_pred(draw *d, int depth)
{
    int p = draw_conjunction(d, depth);
    while (draw_one_in(d, 5))
        p = tree_or(d->t, p, draw_conjunction(d, depth));
    return p;
}

/* --- expressions ---------------------------------------------------------- */

static inline int draw_expression(draw *d, int depth);

// [from <= a < to, ..] before a read, for what does not fit.
static inline int draw_bracketed(draw *d, int read, const bool *fits)
{
    tree *t = d->t;
    const tree_node e = t->node[read];
    const tree_tensor x = t->tensor[e.tensor];
    int p = -1;
    for (int j = 0; j < e.n; j++)
        if (!fits[j]) {
            int q = tree_within(t, x.from[j], e.at[j], x.to[j]);
            p = p < 0 ? q : tree_and(t, p, q);
        }
    return tree_bracket(t, p, read);
}

static inline int draw_read(draw *d)
{
    tree *t = d->t;
    bool let = d->readable > d->inputs && draw_one_in(d, 2);
    int tensor = let ? d->inputs + draw_below(d, d->readable - d->inputs)
                     : draw_below(d, d->readable);
    const tree_tensor x = t->tensor[tensor];
    int at[TREE_DIMS] = { 0 };
    bool fits[TREE_DIMS] = { false };
    bool all = true;
    for (int j = 0; j < x.n; j++) {
        at[j] = draw_at(d, x.from[j], x.to[j]);
        fits[j] = draw_fits(t, at[j], x.from[j], x.to[j]);
        all = all && fits[j];
    }
    int e = tree_read(t, tensor, x.n, at);
    if (all)
        return e;
    return x.relation < 0 && draw_one_in(d, 2) ? tree_guard(t, e)
                                               : draw_bracketed(d, e, fits);
}

static inline int draw_number(draw *d)
{
    int pick = draw_below(d, 8);
    return pick == 0 ? tree_fraction(d->t, 1, 2)
         : pick == 1 ? tree_number_of(d->t, 0)
                     : tree_number_of(d->t, 1 + draw_below(d, 3));
}

static inline int draw_over(draw *d, int depth, enum tree_kind kind)
{
    int index[2] = { 0 };
    int n = 1 + draw_one_in(d, 3);
    draw_open(d, n, index);
    bool condition = kind == TREE_SUM ? draw_one_in(d, 2) : draw_one_in(d, 8);
    int p = condition ? draw_pred(d, 1) : -1;
    int e = draw_expression(d, depth);
    d->depth -= n;
    return tree_over(d->t, kind, n, index, p, e);
}

static inline int draw_call(draw *d, int depth)
{
    tree *t = d->t;
    int row = draw_below(d, TREE_EXACT_ROWS);
    // without log and sqrt, whose arguments would have to be positive
    if (d->kind == DRAW_WIDE && draw_one_in(d, 2))
        row = TREE_EXACT_ROWS + draw_below(d, TREE_FUNCTIONS
                                              - TREE_EXACT_ROWS - 2);
    int a = draw_expression(d, depth);
    int b = row == TREE_FMA ? draw_expression(d, depth) : 0;
    int c = row == TREE_FMA ? draw_expression(d, depth) : 0;
    return tree_call(t, row, a, b, c);
}

// Never zero: 2, or 3 + e^2
static inline int draw_divisor(draw *d, int depth)
{
    tree *t = d->t;
    if (d->kind != DRAW_WIDE || draw_one_in(d, 2))
        return tree_number_of(t, 2);
    int square = tree_pow(t, draw_expression(d, depth), 2);
    return tree_add(t, tree_number_of(t, 3), square);
}

// What only the richer programs have.
static inline int draw_special(draw *d, int depth)
{
    tree *t = d->t;
    int a;
    switch (draw_below(d, 6)) {
    case 0:
        a = draw_one_in(d, 2) ? TREE_MAXIMUM : TREE_MINIMUM;
        return draw_over(d, depth, (enum tree_kind)a);
    case 1:
        return tree_detach(t, draw_expression(d, depth));
    case 2:
        a = draw_expression(d, depth);
        return tree_pow(t, a, 1 + draw_below(d, 4));
    case 3:
        a = draw_expression(d, depth);
        return tree_div(t, a, draw_divisor(d, depth));
    default:
        return draw_call(d, depth);
    }
}

static inline int draw_expression(draw *d, int depth)
{
    tree *t = d->t;
    int pick = depth == 0 ? draw_below(d, 5)
             : d->outermost ? 5 + draw_below(d, 19) : draw_below(d, 24);
    d->outermost = false;
    if (t->nodes > TREE_NODES / 2 || pick < 4)
        return draw_read(d);
    if (pick == 4)
        return draw_number(d);
    depth--;
    if (pick < 14) {
        int a = draw_expression(d, depth);
        int b = draw_expression(d, depth);
        enum tree_kind kind = pick < 9 ? TREE_MUL
                            : pick < 12 ? TREE_ADD : TREE_SUB;
        return tree_node_of(t, kind, a, b);
    }
    if (pick < 18)
        return draw_over(d, depth, TREE_SUM);
    if (pick < 21) {
        int p = draw_pred(d, 1);
        return tree_bracket(t, p, draw_expression(d, depth));
    }
    return d->kind == DRAW_AFFINE ? draw_read(d) : draw_special(d, depth);
}

/* --- programs ------------------------------------------------------------- */

static inline void draw_relation(draw *d)
{
    tree *t = d->t;
    int n = 1 + draw_below(d, 3);
    int size[3] = { 0 };
    int count = 1;
    for (int j = 0; j < n; j++) {
        size[j] = draw_below(d, t->sizes);
        count *= t->size[size[j]].value;
    }
    int r = tree_relation_of(t, "R", n, size);
    int from = count > 0 ? draw_below(d, count) : 0;
    for (int e = 0; e < count; e++) {       // from somewhere, round the end
        int left = (e + from) % count;
        int at[3] = { 0 };
        for (int j = n - 1; j >= 0; j--) {
            at[j] = left % t->size[size[j]].value;
            left /= t->size[size[j]].value;
        }
        if (draw_one_in(d, 2))
            tree_entry(t, r, n, at);
    }
}

static inline void draw_map(draw *d)
{
    tree *t = d->t;
    int from = draw_below(d, t->sizes);
    int to = draw_below(d, t->sizes);
    if (t->size[to].value == 0)
        return;
    int m = tree_map_of(t, "g", from, to);
    for (int e = 0; e < t->size[from].value; e++)
        t->map[m].value[e] = draw_below(d, t->size[to].value);
}

static inline void draw_input(draw *d, const char *name)
{
    tree *t = d->t;
    int n = draw_below(d, 8);
    int from[3] = { 0 };
    int to[3] = { 0 };
    n = n == 0 ? 0 : n < 4 ? 1 : n < 7 ? 2 : 3;
    for (int j = 0; j < n; j++)
        draw_range(d, &from[j], &to[j]);
    int x = tree_input(t, name, TREE_NONE);
    t->tensor[x].n = n;
    memcpy(t->tensor[x].from, from, sizeof from);
    memcpy(t->tensor[x].to, to, sizeof to);
}

static inline void draw_statement(draw *d, const char *name, bool last)
{
    static const int counts[] = { 0, 0, 1, 1, 1, 2, 2, 3 };
    int index[3] = { 0 };
    int n = counts[draw_below(d, 8)];
    d->depth = 0;
    d->names = 0;
    draw_open(d, n, index);
    d->outermost = true;
    int e = draw_expression(d, 1 + draw_below(d, 4));
    int x = tree_let(d->t, name, n, index, e);
    d->t->tensor[x].out = last || draw_one_in(d, 4);
    d->readable = d->t->tensors;
}

static inline void draw_declarations(draw *d)
{
    static const char *const sizes[] = { "n", "m", "h" };
    static const char *const inputs[] = { "x", "y", "z" };
    tree *t = d->t;
    int n = 1 + draw_below(d, 3);
    for (int j = 0; j < n; j++) {
        int s = tree_size(t, sizes[j], draw_one_in(d, 40) ? 0
                                       : 1 + draw_below(d, 3));
        t->size[s].named = !draw_one_in(d, 3);
    }
    if (d->kind != DRAW_AFFINE && draw_one_in(d, 3))
        draw_relation(d);
    if (d->kind != DRAW_AFFINE && draw_one_in(d, 3))
        draw_map(d);
    n = 1 + draw_below(d, 3);
    for (int j = 0; j < n; j++)
        draw_input(d, inputs[j]);
    if (t->relations > 0 && draw_one_in(d, 2))
        tree_input_on(t, "A", 0);
    d->readable = d->inputs = t->tensors;
}

// Sizes small enough for the arrays of a point.
static inline bool draw_is_small(const tree *t)
{
    tree_run r = { .t = t };
    for (int i = 0; i < t->tensors; i++)
        if (tree_count_of(&r, i) > DRAW_NUMBERS)
            return false;
    return true;
}

// False: of no use.
static inline bool draw_program(tree *t, uint64_t *seed, enum draw_kind kind)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    draw d = { .t = t, .seed = seed, .kind = kind };
    tree_start(t);
    draw_declarations(&d);
    int n = 1 + draw_below(&d, 4);
    for (int j = 0; j < n; j++)
        draw_statement(&d, names[j], j == n - 1);
    return !t->full && draw_is_small(t);
}

/* --- points --------------------------------------------------------------- */

// Of all inputs and results that are not gone, in the order of declarations.
typedef struct draw_point {
    int inputs, outs;
    int size_in[DRAW_ARRAYS], size_out[DRAW_ARRAYS];
    int out[DRAW_ARRAYS];               // tensors
    const double *x[DRAW_ARRAYS];
    const double *v[DRAW_ARRAYS];       // directions
    const double *u[DRAW_ARRAYS];
    const double *w[DRAW_ARRAYS];       // seeds of the results
    double room[4][DRAW_ARRAYS][DRAW_NUMBERS];
} draw_point;

// By tensor and entry, so that a smaller program has the same numbers.
static inline double draw_value(uint64_t seed, int array, int tensor, int entry)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15u
                        * (uint64_t)(1 + array + 4 * (tensor + 64 * entry));
    return (double)(int)(draw_mixed(z) % 7) - 3;
}

static inline void draw_array(uint64_t seed, int array, int tensor, int n,
                              double *to)
{
    for (int k = 0; k < n; k++)
        to[k] = draw_value(seed, array, tensor, k);
}

static inline void draw_point_of(const tree *t, uint64_t seed, draw_point *p)
{
    tree_run r = { .t = t };
    p->inputs = p->outs = 0;
    for (int i = 0; i < t->tensors; i++) {
        int n = tree_count_of(&r, i);
        if (t->tensor[i].gone || (!t->tensor[i].input && !t->tensor[i].out))
            continue;
        if (t->tensor[i].out) {
            draw_array(seed, 3, i, n, p->room[3][p->outs]);
            p->w[p->outs] = p->room[3][p->outs];
            p->out[p->outs] = i;
            p->size_out[p->outs++] = n;
            continue;
        }
        for (int k = 0; k < 3; k++)
            draw_array(seed, k, i, n, p->room[k][p->inputs]);
        p->x[p->inputs] = p->room[0][p->inputs];
        p->v[p->inputs] = p->room[1][p->inputs];
        p->u[p->inputs] = p->room[2][p->inputs];
        p->size_in[p->inputs++] = n;
    }
}

/* --- smaller programs ----------------------------------------------------- */

// True: the program still fails. It is asked about programs that are good.
typedef bool draw_fails(const tree *t, void *user);

static inline int draw_mark_pred(const tree *t, int pred, bool *relation,
                                 bool *map)
{
    const tree_pred *p = &t->pred[pred];
    int count = 1;
    if (p->kind == TREE_RELATED)
        relation[p->relation] = true;
    for (int j = 0; p->kind != TREE_EXISTS && j < p->n; j++)
        for (int k = 0; k < t->affine[p->at[j]].terms; k++)
            if (t->affine[p->at[j]].term[k].kind == TREE_OF_MAP)
                map[t->affine[p->at[j]].term[k].id] = true;
    if (p->kind >= TREE_AND)
        count += draw_mark_pred(t, p->left, relation, map);
    if (p->kind == TREE_AND || p->kind == TREE_OR)
        count += draw_mark_pred(t, p->right, relation, map);
    return count;
}

// What an expression uses; returns how many nodes and predicates it has.
static inline int draw_mark(const tree *t, int node, bool *read,
                            bool *relation, bool *map)
{
    const tree_node *e = &t->node[node];
    int count = 2 - (e->kind == TREE_NUMBER && e->num == 1);
    if (e->pred >= 0)
        count += draw_mark_pred(t, e->pred, relation, map);
    if (e->kind == TREE_READ) {
        read[e->tensor] = true;
        for (int j = 0; j < e->n; j++)
            for (int k = 0; k < t->affine[e->at[j]].terms; k++)
                if (t->affine[e->at[j]].term[k].kind == TREE_OF_MAP)
                    map[t->affine[e->at[j]].term[k].id] = true;
    }
    for (int j = 0; j < tree_operands(e); j++)
        count += draw_mark(t, tree_operand(e, j), read, relation, map);
    return count;
}

// The size of a program; `take` takes out what no result needs.
static inline int draw_sweep(tree *t, bool take)
{
    bool read[TREE_TENSORS] = { false };
    bool relation[TREE_RELATIONS] = { false };
    bool map[TREE_MAPS] = { false };
    int size = 0;
    for (int i = t->tensors - 1; i >= 0; i--) {
        tree_tensor *x = &t->tensor[i];
        x->gone = x->gone || (take && !read[i] && !x->out);
        if (x->gone)
            continue;
        size += 1 + x->out;
        if (!x->input)
            size += draw_mark(t, x->body, read, relation, map);
        else if (x->relation >= 0)
            relation[x->relation] = true;
    }
    for (int i = 0; i < t->relations && take; i++)
        t->relation[i].gone = !relation[i];
    for (int i = 0; i < t->maps && take; i++)
        t->map[i].gone = !map[i];
    for (int i = 0; i < t->sizes; i++)
        size += t->size[i].value;
    return size;
}

// No range is less than empty.
static inline bool draw_has_ranges(const tree *t)
{
    for (int i = 0; i < t->tensors; i++)
        for (int d = 0; d < t->tensor[i].n; d++)
            if (draw_known(t, t->tensor[i].from[d])
                > draw_known(t, t->tensor[i].to[d]))
                return false;
    for (int i = 0; i < t->indices; i++)
        if (draw_known(t, t->index[i].from) > draw_known(t, t->index[i].to))
            return false;
    return true;
}

static inline bool draw_binds(const tree *t, int at, const bool *known)
{
    const tree_affine *a = &t->affine[at];
    bool good = true;
    for (int j = 0; j < a->terms; j++)
        good = good && (a->term[j].kind != TREE_OF_INDEX
                        || known[a->term[j].id])
            && (a->term[j].kind != TREE_OF_MAP
                || draw_binds(t, a->term[j].at, known));
    return good;
}

static inline bool draw_pred_is_closed(const tree *t, int pred,
                                       const bool *outer)
{
    const tree_pred *p = &t->pred[pred];
    bool known[TREE_INDICES];
    bool good = true;
    memcpy(known, outer, sizeof known);
    for (int j = 0; j < p->n; j++)
        if (p->kind == TREE_EXISTS)
            known[p->at[j]] = true;
        else
            good = good && draw_binds(t, p->at[j], known);
    if (p->kind >= TREE_AND)
        good = good && draw_pred_is_closed(t, p->left, known);
    if (p->kind == TREE_AND || p->kind == TREE_OR)
        good = good && draw_pred_is_closed(t, p->right, known);
    return good;
}

// Every index is bound, and what is read is there.
static inline bool draw_is_closed(const tree *t, int node, const bool *outer)
{
    const tree_node *e = &t->node[node];
    bool known[TREE_INDICES];
    bool good = e->kind != TREE_READ || !t->tensor[e->tensor].gone;
    memcpy(known, outer, sizeof known);
    for (int j = 0; j < e->n; j++)
        if (e->kind != TREE_READ)
            known[e->at[j]] = true;
        else
            good = good && draw_binds(t, e->at[j], known);
    if (e->pred >= 0)
        good = good && draw_pred_is_closed(t, e->pred, known);
    for (int j = 0; j < tree_operands(e); j++)
        good = good && draw_is_closed(t, tree_operand(e, j), known);
    return good;
}

static inline bool draw_all_closed(const tree *t)
{
    bool good = true;
    for (int i = 0; i < t->tensors; i++) {
        bool known[TREE_INDICES] = { false };
        const tree_tensor *x = &t->tensor[i];
        for (int d = 0; d < x->n && !x->input; d++)
            known[x->index[d]] = true;
        good = good && (x->input || x->gone
                        || draw_is_closed(t, x->body, known));
    }
    return good;
}

static inline bool draw_is_good(const tree *t)
{
    tree_run r;
    draw_point *p;
    bool outs = false;
    for (int i = 0; i < t->tensors; i++)
        outs = outs || (t->tensor[i].out && !t->tensor[i].gone);
    if (!outs || t->full || !draw_is_small(t) || !draw_has_ranges(t)
        || !draw_all_closed(t))
        return false;
    p = tree_get(1, sizeof *p);
    draw_point_of(t, 1, p);
    tree_open(&r, t, TREE_WIDE, 1);
    bool good = tree_run_at(&r, p->x, NULL, NULL);
    tree_close(&r);
    free(p);
    return good;
}

// Entries of relations and values of maps that a smaller size allows no more.
static inline void draw_clip(tree *t)
{
    for (int i = 0; i < t->relations; i++) {
        tree_relation *r = &t->relation[i];
        int kept = 0;
        for (int e = 0; e < r->entries; e++) {
            bool inside = true;
            for (int d = 0; d < r->n; d++)
                inside = inside && r->entry[d][e] < draw_known(t, r->size[d]);
            for (int d = 0; d < r->n; d++)
                r->entry[d][kept] = r->entry[d][e];
            kept += inside;
        }
        r->entries = kept;
    }
    for (int i = 0; i < t->maps; i++)
        for (int e = 0; e < TREE_ENTRIES; e++)
            if (t->map[i].value[e] >= draw_known(t, t->map[i].to))
                t->map[i].value[e] = 0;
}

// The change number k of a node: an operand in its place, 1, or no condition.
static inline bool draw_change(tree *t, int node, int k)
{
    tree_node *e = &t->node[node];
    if (k < 3 && k < tree_operands(e)) {
        *e = t->node[tree_operand(e, k)];
        return true;
    }
    if (k == 3 && e->pred >= 0 && e->kind != TREE_BRACKET) {
        e->pred = -1;
        return true;
    }
    if (k == 4 && (e->kind != TREE_NUMBER || e->num != 1)) {
        memset(e, 0, sizeof *e);
        e->kind = TREE_NUMBER;
        e->num = e->den = 1;
        e->pred = -1;
        return true;
    }
    return false;
}

// One half of a predicate in its place.
static inline bool draw_change_pred(tree *t, int pred, int k)
{
    tree_pred *p = &t->pred[pred];
    if (p->kind != TREE_AND && p->kind != TREE_OR)
        return false;
    *p = t->pred[k == 0 ? p->left : p->right];
    return true;
}

// A statement is the last, and the only result.
static inline bool draw_end(tree *t, int tensor)
{
    if (t->tensor[tensor].input || t->tensor[tensor].gone)
        return false;
    for (int i = 0; i < t->tensors; i++) {
        t->tensor[i].out = i == tensor;
        t->tensor[i].gone = t->tensor[i].gone || i > tensor;
    }
    return true;
}

// The change number c of a program; false: there is none.
static inline bool draw_changed(const tree *t, int c, tree *small)
{
    *small = *t;
    if (c < t->tensors)
        return draw_end(small, c);
    if ((c -= t->tensors) < t->tensors) {
        bool out = small->tensor[c].out;
        small->tensor[c].gone = small->tensor[c].gone || !out;
        small->tensor[c].out = false;
        return !t->tensor[c].gone;
    }
    if ((c -= t->tensors) < t->sizes) {
        small->size[c].value--;
        draw_clip(small);
        return t->size[c].value > 0;
    }
    if ((c -= t->sizes) < 2 * t->preds)
        return draw_change_pred(small, c / 2, c % 2);
    c -= 2 * t->preds;
    return draw_change(small, c / 5, c % 5);
}

// Ever smaller programs, until no change leaves one that fails.
static inline void draw_shrink(tree *t, draw_fails *fails, void *user)
{
    tree *small = tree_get(1, sizeof *small);
    *small = *t;
    draw_sweep(small, true);
    bool take = fails(small, user);         // else dead code is what fails
    int size = draw_sweep(t, take);
    bool smaller = true;
    while (smaller) {
        smaller = false;
        int changes = 2 * t->tensors + t->sizes + 2 * t->preds
                    + 5 * t->nodes;
        for (int c = 0; c < changes && !smaller; c++) {
            if (!draw_changed(t, c, small))
                continue;
            int now = draw_sweep(small, take);
            if (now < size && draw_is_good(small) && fails(small, user)) {
                *t = *small;
                size = now;
                smaller = true;
            }
        }
    }
    free(small);
}

#endif
