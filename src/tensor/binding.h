#pragma once

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
