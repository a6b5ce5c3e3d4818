/* Made from src/ by `make headers`: changes belong there. */
/* adrev_struct.h - structures of numbers for adrev.                   0.1.0
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_struct.h"
 *
 * One list of fields gives a struct of plain numbers, its twin of recorded
 * numbers, and functions that convert between them and flat arrays.
 *
 *     #define BODY(FIELD)                  \       plain           twin
 *         FIELD(real,    mass)             \       ad_real         ad_rev
 *         FIELD(reals,   spin, [3][3])     \
 *         FIELD(record,  pose, start)      \       pose            pose_rev
 *         FIELD(records, pose, way, [8])   \
 *         FIELD(other,   int, id)          \       the same type, copied
 *         FIELD(others,  char, name, [16]) \
 *         FIELD(pointer, body, next)               body *          body_rev *
 *     ADREV_STRUCT(body, BODY);
 *
 * declares the types body and body_rev, and the constant body_most: the most
 * numbers that one holds, not counting those behind pointers or visited by hand
 * (ADREV_STRUCT_VISITED). These functions return a status, except body_count:
 *
 *     body_inputs(&plain, &twin)                  every number as an input
 *     body_values(&twin, &plain)                  the plain numbers
 *     body_gradient(t, y, &twin, &plain)          dy/d(every number)
 *     body_pullback(t, m, y, dy, &twin, &plain)   as ad_pullback
 *     body_gather(&twin, n, rev)                  to an array, for ad_jacobian
 *     body_pack(&plain, n, real)                  numbers to an array
 *     body_unpack(n, real, &plain)                and back; other fields stay
 *     body_check(f, ctx, &plain, &twin, &report)  as ad_check, of a function
 *                                               ad_rev f(const body_rev *, ctx)
 *     body_make_rev(allocator, &plain, &twin)     makes nodes behind pointers
 *     body_make_plain(allocator, &twin, &plain)
 *     size_t n = body_count(&twin)                n of this very struct
 *
 *   other fields are copied from the struct that is read, also into a gradient
 *   returns      ADREV_OK; ADREV_ESHAPE (a null argument, an n that is not
 *                the count, lists of different lengths); as ad_pullback
 *   check        f is given the twin, again and again, with other numbers in
 *                it. So the twin must have its nodes, and f stores nothing in
 *                it. An index counts the numbers in the order of body_gather
 *   derivatives  0 for numbers that are constants (ad_detach makes one), but
 *                ADREV_EPASSIVE if all are
 *   pointers     are NULL, or lead to lists and trees of the caller's nodes:
 *                as many on the side that is written as on the other. make_...
 *                allocates the nodes one by one and zeroes all numbers; on
 *                ADREV_ENOMEM the output holds the nodes that were made. A
 *                pointer that is the last field is followed in a loop, others
 *                by recursion
 *   cost         one or two passes over the struct
 *   see          examples/08_camera.c, tests/struct/structs.c
 *
 * Includes adrev.h, which describes the switches.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   struct/api    the macros that declare structs
 *   struct/walk   conversions, as walks through the fields
 *
 * SPDX-License-Identifier: MIT-0           (the text stands at the end)
 */

// Outside the guard: a second time, with ADREV_IMPLEMENTATION, it brings the
// implementation.
#include "adrev.h"

#ifndef ADREV_STRUCT_H
#define ADREV_STRUCT_H

/* === struct/api =============================================================
 * Macros make types, tables and functions from a list of fields. What these
 * functions do is in struct/walk, which reads the tables.
 *
 *   needs   number/recording number/expression tape/walk
 *   offers  adx_visit_task ADX_TASK_INPUTS ADX_TASK_CONSTANTS ADX_TASK_VALUES
 *           ADX_TASK_ADJOINTS ADX_TASK_MAKE_REV ADX_TASK_MAKE_PLAIN
 *           ADX_TASK_COUNT ADX_TASK_GATHER ADX_TASK_SPREAD ADX_TASK_PACK
 *           ADX_TASK_UNPACK adx_field_kind ADX_REALS ADX_BYTES ADX_RECORDS
 *           ADX_POINTER ADX_CASE adx_field adx_struct_fn
 * ========================================================================== */

#define ADREV_STRUCT(name, FIELDS)                                          \
    ADREV_STRUCT_AHEAD(name);                                               \
    struct name { FIELDS(ADX_PLAIN) };                                      \
    struct name##_rev { FIELDS(ADX_TWIN) };                                 \
    enum { name##_most = 0 FIELDS(ADX_MOST) };                              \
    ADX_SHAPE(name, FIELDS(ADX_ENTRY))                                      \
    ADX_STRUCT_FUNCTIONS(name)

// A tagged union, { int tag; union { two x; ... } as; }, from a list of
// CASE(tag, two, x), where `two` is the name of a record. The union is a record
// itself, and may be a field. Only the case that its tag names is looked at. If
// this case has pointers, both sides must have the same tag. name_most is an
// upper bound.
#define ADREV_UNION(name, CASES)                                            \
    ADREV_STRUCT_AHEAD(name);                                               \
    struct name { int tag; union { CASES(ADX_CASE_PLAIN) } as; };           \
    struct name##_rev { int tag; union { CASES(ADX_CASE_TWIN) } as; };      \
    enum { name##_most = 0 CASES(ADX_CASE_MOST) };                          \
    ADX_SHAPE(name, ADX_TAG_ENTRY CASES(ADX_CASE_ENTRY))                    \
    ADX_STRUCT_FUNCTIONS(name)

// Declares a type whose fields are listed later, so that pointers to it can be
// fields before.
#define ADREV_STRUCT_AHEAD(name)                                            \
    typedef struct name name;                                               \
    typedef struct name##_rev name##_rev;                                   \
    static inline ADX_UNUSED const ad_shape *name##_shape(void)

// Makes the functions for two structs, name and name_rev, that are declared by
// hand. The visitor calls ad_visit_... for all parts of both, always in the
// same order. Either struct may be NULL, and its parts are then passed on as
// NULL. name_most is 0.
#define ADREV_STRUCT_VISITED(name, visitor)                                 \
    ADREV_STRUCT_AHEAD(name);                                               \
    enum { name##_most = 0 };                                               \
    static inline ADX_UNUSED const ad_shape *name##_shape(void)             \
    {                                                                       \
        static const ad_shape adx_own_shape = { sizeof(struct name),        \
            sizeof(struct name##_rev), 0, NULL, visitor };                  \
        return &adx_own_shape;                                              \
    }                                                                       \
    ADX_STRUCT_FUNCTIONS(name)

/* --- visit ------------------------------------------------------------------
 * One walk through both structs serves all conversions. A visitor written by
 * hand takes part in it by calling two functions.                           */

typedef enum adx_visit_task {
    ADX_TASK_INPUTS, ADX_TASK_CONSTANTS, ADX_TASK_VALUES, ADX_TASK_ADJOINTS,
    ADX_TASK_MAKE_REV, ADX_TASK_MAKE_PLAIN, ADX_TASK_COUNT, ADX_TASK_GATHER,
    ADX_TASK_SPREAD, ADX_TASK_PACK, ADX_TASK_UNPACK
} adx_visit_task;

// A conversion while it walks through both structs.
typedef struct ad_visitor {
    bool from_rev;              // the twin is read, the plain struct written
    const ad_allocator *make;   // not NULL: make nodes on the side written
    ad_status status;           // anything but ADREV_OK ends the walk
    adx_visit_task adx_work;
    bool adx_check;             // compare only
    bool adx_active;            // some number is not a constant
    size_t adx_count;           // numbers so far
    const ad_tape *adx_tape;
    ad_real *adx_real;
    ad_rev *adx_rev;
} ad_visitor;

typedef void ad_visit_fn(ad_visitor *v, void *plain, void *twin);

// Parts of both structs: n numbers in a row, and bytes to be copied.
ADX_API void ad_visit_reals(ad_visitor *v, size_t n, ad_real *plain,
                            ad_rev *twin);
ADX_API void ad_visit_other(ad_visitor *v, size_t bytes, void *plain,
                            void *twin);

typedef enum adx_field_kind {
    ADX_REALS, ADX_BYTES, ADX_RECORDS, ADX_POINTER, ADX_CASE
} adx_field_kind;

typedef struct adx_field {
    adx_field_kind kind;
    int tag;                                // of a case
    size_t count;                           // of numbers, bytes or records
    size_t plain;                           // offset in the plain struct
    size_t twin;                            // offset in the twin
    const struct ad_shape *(*shape)(void);  // of a record, or behind a pointer
} adx_field;

typedef struct ad_shape {
    size_t plain;                           // size of the plain struct
    size_t twin;                            // size of the twin
    size_t count;                           // of fields
    const adx_field *field;
    ad_visit_fn *visit;                     // not NULL: instead of fields
} ad_shape;

ADX_TRY ad_status adx_struct_convert(adx_visit_task task, const ad_shape *s,
                                     const ad_allocator *make,
                                     const void *from, void *to);
ADX_TRY ad_status adx_struct_gather(const ad_shape *s, const void *twin,
                                    size_t n, ad_rev x[]);
ADX_TRY ad_status adx_struct_pack(const ad_shape *s, const void *plain,
                                  size_t n, ad_real x[]);
ADX_TRY ad_status adx_struct_unpack(const ad_shape *s, size_t n,
                                    const ad_real x[], void *plain);
ADX_API size_t adx_struct_count(const ad_shape *s, const void *twin);
ADX_TRY ad_status adx_struct_pullback(const ad_shape *s, ad_tape *t, size_t m,
                                      const ad_rev y[], const ad_real dy[],
                                      const void *twin, void *plain);
ADX_TRY ad_status adx_struct_gradient(const ad_shape *s, ad_tape *t, ad_rev y,
                                      const void *twin, void *plain);

// A function of a struct, for ad_check: `call` knows the type of f.
typedef struct adx_struct_fn {
    ad_rev (*call)(const struct adx_struct_fn *of, const void *twin);
    void (*f)(void);
    void *ctx;
    const ad_shape *shape;
    void *twin;
    size_t n;
} adx_struct_fn;

ADX_TRY ad_status adx_struct_check(adx_struct_fn *of, const void *plain,
                                   ad_check_report *report);

/* --- fields -----------------------------------------------------------------
 * What ADREV_STRUCT and ADREV_UNION are made of.                            */

// For each kind of field: plain type, twin's type, name, dimensions, kind, how
// many, numbers in it (at most), shape.
#define ADX_FIELD_real(DO, name)                                            \
    DO(ad_real, ad_rev, name, , ADX_REALS, 1, 1, NULL)
#define ADX_FIELD_reals(DO, name, dims)                                     \
    DO(ad_real, ad_rev, name, dims, ADX_REALS, sizeof(char dims),           \
       sizeof(char dims), NULL)
#define ADX_FIELD_other(DO, type, name)                                     \
    DO(type, type, name, , ADX_BYTES, sizeof(type), 0, NULL)
#define ADX_FIELD_others(DO, type, name, dims)                              \
    DO(type, type, name, dims, ADX_BYTES, sizeof(type dims), 0, NULL)
#define ADX_FIELD_record(DO, type, name)                                    \
    DO(struct type, struct type##_rev, name, , ADX_RECORDS, 1,              \
       type##_most, type##_shape)
#define ADX_FIELD_records(DO, type, name, dims)                             \
    DO(struct type, struct type##_rev, name, dims, ADX_RECORDS,             \
       sizeof(char dims), sizeof(char dims) * type##_most, type##_shape)
#define ADX_FIELD_pointer(DO, type, name)                                   \
    DO(struct type *, struct type##_rev *, name, , ADX_POINTER, 1, 0,       \
       type##_shape)

#define ADX_PLAIN(kind, ...) ADX_FIELD_##kind(ADX_PLAIN_OF, __VA_ARGS__)
#define ADX_TWIN(kind, ...)  ADX_FIELD_##kind(ADX_TWIN_OF, __VA_ARGS__)
#define ADX_MOST(kind, ...)  ADX_FIELD_##kind(ADX_MOST_OF, __VA_ARGS__)
#define ADX_ENTRY(kind, ...) ADX_FIELD_##kind(ADX_ENTRY_OF, __VA_ARGS__)

#define ADX_PLAIN_OF(plain, twin, name, dims, ...) plain name dims;
#define ADX_TWIN_OF(plain, twin, name, dims, ...)  twin name dims;
#define ADX_MOST_OF(plain, twin, name, dims, kind, count, most, ...) + most
#define ADX_ENTRY_OF(plain, twin, name, dims, kind, count, most, shape)     \
    { kind, 0, count, offsetof(adx_plain_struct, name),                     \
      offsetof(adx_twin, name), shape },

#define ADX_CASE_PLAIN(tag, type, name) struct type name;
#define ADX_CASE_TWIN(tag, type, name)  struct type##_rev name;
#define ADX_CASE_MOST(tag, type, name)  + type##_most
#define ADX_CASE_ENTRY(tag, type, name)                                     \
    { ADX_CASE, tag, 1, offsetof(adx_plain_struct, as.name),                \
      offsetof(adx_twin, as.name), type##_shape },
#define ADX_TAG_ENTRY { ADX_BYTES, 0, sizeof(int), 0, 0, NULL },

#define ADX_SHAPE(name, ...)                                                \
    static inline ADX_UNUSED const ad_shape *name##_shape(void)             \
    {                                                                       \
        typedef struct name adx_plain_struct;                               \
        typedef struct name##_rev adx_twin;                                 \
        static const adx_field adx_f[] = { __VA_ARGS__ };                   \
        static const ad_shape adx_own_shape = {                             \
            sizeof(adx_plain_struct), sizeof(adx_twin),                     \
            sizeof adx_f / sizeof *adx_f, adx_f, NULL };                    \
        return &adx_own_shape;                                              \
    }

#if ADREV_DEBUG     // the place of inputs is the line of ADREV_STRUCT
#define ADX_HERE adx_here(__FILE__, __LINE__)
#else
#define ADX_HERE (void)0
#endif

// The names of parameters are those of no type, variable or macro of the user.
#define ADX_STRUCT_FUNCTIONS(name)                                          \
    ADX_STRUCT_CONVERSIONS(name)                                            \
    ADX_STRUCT_ARRAYS(name)                                                 \
    ADX_STRUCT_DERIVATIVES(name)                                            \
    ADX_STRUCT_CHECK(name)                                                  \
    typedef struct name name

// What a struct's functions return: compilers warn where it is dropped.
#define ADX_STATUS ADX_INLINE ADX_CHECKED ad_status

#define ADX_STRUCT_CONVERSIONS(name)                                        \
    ADX_STATUS name##_inputs(const name *adx_x, name##_rev *adx_r)          \
    { ADX_HERE; return ADX_CONVERT(INPUTS, name, NULL, adx_x, adx_r); }     \
    ADX_STATUS name##_values(const name##_rev *adx_r, name *adx_x)          \
    { return ADX_CONVERT(VALUES, name, NULL, adx_r, adx_x); }               \
    ADX_STATUS name##_make_rev(                                             \
        const ad_allocator *adx_a, const name *adx_x, name##_rev *adx_r)    \
    { return ADX_CONVERT(MAKE_REV, name, adx_a, adx_x, adx_r); }            \
    ADX_STATUS name##_make_plain(                                           \
        const ad_allocator *adx_a, const name##_rev *adx_r, name *adx_x)    \
    { return ADX_CONVERT(MAKE_PLAIN, name, adx_a, adx_r, adx_x); }

#define ADX_CONVERT(task, name, ...)                                        \
    adx_struct_convert(ADX_TASK_##task, name##_shape(), __VA_ARGS__)

#define ADX_STRUCT_ARRAYS(name)                                             \
    ADX_INLINE size_t name##_count(const name##_rev *adx_r)                 \
    { return adx_struct_count(name##_shape(), adx_r); }                     \
    ADX_STATUS name##_gather(const name##_rev *adx_r,                       \
                             size_t adx_n, ad_rev adx_to[])                 \
    { return adx_struct_gather(name##_shape(), adx_r, adx_n, adx_to); }     \
    ADX_STATUS name##_pack(const name *adx_x, size_t adx_n,                 \
                           ad_real adx_to[])                                \
    { return adx_struct_pack(name##_shape(), adx_x, adx_n, adx_to); }       \
    ADX_STATUS name##_unpack(                                               \
        size_t adx_n, const ad_real adx_from[], name *adx_x)                \
    { return adx_struct_unpack(name##_shape(), adx_n, adx_from, adx_x); }

#define ADX_STRUCT_DERIVATIVES(name)                                        \
    ADX_STATUS name##_pullback(                                             \
        ad_tape *adx_t, size_t adx_m, const ad_rev adx_y[],                 \
        const ad_real adx_dy[], const name##_rev *adx_r, name *adx_dx)      \
    { return adx_struct_pullback(name##_shape(), adx_t, adx_m, adx_y,       \
                                 adx_dy, adx_r, adx_dx); }                  \
    ADX_STATUS name##_gradient(                                             \
        ad_tape *adx_t, ad_rev adx_y, const name##_rev *adx_r, name *adx_g) \
    { return adx_struct_gradient(name##_shape(), adx_t, adx_y, adx_r, adx_g); }

#define ADX_STRUCT_CHECK(name)                                              \
    typedef ad_rev name##_fn(const name##_rev *x, void *ctx);               \
    static inline ADX_UNUSED ad_rev adx_call_##name(                        \
        const adx_struct_fn *adx_of, const void *adx_r)                     \
    { return ((name##_fn *)adx_of->f)((const name##_rev *)adx_r,            \
                                      adx_of->ctx); }                       \
    ADX_STATUS name##_check(name##_fn *adx_f, void *adx_ctx,                \
                            const name *adx_x, name##_rev *adx_r,           \
                            ad_check_report *adx_report)                    \
    {                                                                       \
        adx_struct_fn adx_of = { adx_call_##name, (void (*)(void))adx_f,    \
                                 adx_ctx, name##_shape(), adx_r, 0 };       \
        return adx_struct_check(&adx_of, adx_x, adx_report);                \
    }

#endif // ADREV_STRUCT_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_STRUCT_IMPLEMENTED
#define ADREV_STRUCT_IMPLEMENTED

/* === struct/walk ============================================================
 * Every conversion is a walk through the fields of a struct and of its twin. A
 * shape lists the fields, and a task says what is done with each of them. If a
 * conversion has only one of the two structs, the other pointer is NULL. If
 * there may be pointers, a first walk only checks that both structs have the
 * same nodes.
 *
 *   needs   number/recording tape/layout tape/memory tape/walk sweep/queries
 *           sweep/session check/examine struct/api
 * ========================================================================== */

// Checks numbers whose adjoints are asked for: they must be values of this
// tape, or constants.
static void adx_check_reals(ad_visitor *v, size_t n, const ad_rev x[])
{
    ad_status status = adx_check_values(v->adx_tape, n, x, true, false);

    if (status == ADREV_EFOREIGN)
        v->status = status;
    v->adx_active |= status == ADREV_OK;
}

// Does what the task says with the next n numbers. They are numbers adx_count
// ... adx_count + n - 1 in the order of all. A walk that checks only counts
// them.
ADX_API void ad_visit_reals(ad_visitor *v, size_t n, ad_real *plain,
                            ad_rev *twin)
{
    size_t at = v->adx_count;

    if (n > ADX_MOST_ELEMENTS - at)
        v->status = ADREV_ESHAPE;
    if (v->status != ADREV_OK)
        return;
    v->adx_count += n;
    if (v->adx_check && v->adx_tape != NULL)
        adx_check_reals(v, n, twin);
    if (v->adx_check || n == 0)
        return;
    switch (v->adx_work) {
    case ADX_TASK_INPUTS:
        (ad_inputs)(n, plain, twin);
        break;
    case ADX_TASK_CONSTANTS:
        for (size_t i = 0; i < n; i++)
            twin[i] = adx_passive(plain[i]);
        break;
    case ADX_TASK_VALUES:
        for (size_t i = 0; i < n; i++)
            plain[i] = twin[i].v;
        break;
    case ADX_TASK_ADJOINTS:
        for (size_t i = 0; i < n; i++)
            plain[i] = twin[i].job == 0 ? 0
                     : *adx_derivative(v->adx_tape, v->adx_real, twin[i], 1);
        break;
    case ADX_TASK_GATHER:
        memcpy(v->adx_rev + at, twin, n * sizeof *twin);
        break;
    case ADX_TASK_SPREAD:
        memcpy(twin, v->adx_rev + at, n * sizeof *twin);
        break;
    case ADX_TASK_PACK:
        memcpy(v->adx_real + at, plain, n * sizeof *plain);
        break;
    case ADX_TASK_UNPACK:
        memcpy(plain, v->adx_real + at, n * sizeof *plain);
        break;
    case ADX_TASK_MAKE_REV: case ADX_TASK_MAKE_PLAIN: case ADX_TASK_COUNT:
        break;                  // numbers of nodes that are made are 0 already
    }
}

// Copies bytes that are not numbers.
ADX_API void ad_visit_other(ad_visitor *v, size_t bytes, void *plain,
                            void *twin)
{
    if (bytes > ADX_MOST_ELEMENTS)
        v->status = ADREV_ESHAPE;
    if (v->status != ADREV_OK)
        return;
    if (!v->adx_check && v->adx_work < ADX_TASK_COUNT && bytes > 0)
        memcpy(v->from_rev ? plain : twin, v->from_rev ? twin : plain, bytes);
}

// Whether a struct of this shape is compact: all of it lies in the struct
// itself, without pointers, and no visitor is written by hand.
static bool adx_compact(const ad_shape *s)
{
    bool compact = s->visit == NULL;

    for (size_t i = 0; compact && i < s->count; i++) {
        adx_field_kind kind = s->field[i].kind;
        compact = kind < ADX_RECORDS
               || (kind != ADX_POINTER && adx_compact(s->field[i].shape()));
    }
    return compact;
}

// All pointers to structs have the same representation, so one type stands for
// all.
typedef struct adx_any adx_any;

// Returns the node to which the pointer at p leads.
static char *adx_load_node(const char *p)
{
    adx_any *node = NULL;
    memcpy(&node, p, sizeof node);
    return (char *)node;
}

// Allocates a node, all zero, and makes the pointer at p lead to it.
static char *adx_make_node(ad_visitor *v, size_t bytes, char *p)
{
    adx_any *node = (adx_any *)v->make->alloc(bytes, v->make->user);

    if (node == NULL)
        v->status = ADREV_ENOMEM;
    else
        memset((void *)node, 0, bytes);
    memcpy(p, &node, sizeof node);
    return (char *)node;
}

// Follows a pointer on both sides. If the task says so, it makes the node on
// the side that is written. Otherwise both sides must have a node, or neither.
// False: there is no node, or the walk has failed.
static bool adx_follow_link(ad_visitor *v, const ad_shape *s, char **from,
                            char **to)
{
    char *node = adx_load_node(*from);
    char *other = node;

    if (*to != NULL && v->make == NULL)
        other = adx_load_node(*to);
    else if (*to != NULL && node != NULL)
        other = adx_make_node(v, v->from_rev ? s->plain : s->twin, *to);
    if ((node == NULL) != (other == NULL) && v->status == ADREV_OK)
        v->status = ADREV_ESHAPE;
    *from = node;
    *to = *to == NULL ? NULL : other;
    return node != NULL && v->status == ADREV_OK;
}

// Whether a union is in this case. If the case may have pointers, both tags
// must agree. Otherwise only the tag that is read matters: the one that will be
// written may be uninitialised.
static bool adx_is_case(ad_visitor *v, const adx_field *f, const char *from,
                        const char *to)
{
    bool same = memcmp(from, &f->tag, sizeof f->tag) == 0;

    if (same && to != NULL && !adx_compact(f->shape())
        && memcmp(to, &f->tag, sizeof f->tag) != 0)
        v->status = ADREV_ESHAPE;
    return same && v->status == ADREV_OK;
}

static char *adx_at_offset(char *base, size_t offset)
{
    return base == NULL ? NULL : base + offset;
}

static void adx_walk_shape(ad_visitor *v, const ad_shape *s, char *plain,
                           char *twin);

// Visits a field that has no pointer itself: numbers, bytes or records.
static void adx_visit_part(ad_visitor *v, const adx_field *f, char *plain,
                           char *twin)
{
    if (f->kind == ADX_REALS)
        ad_visit_reals(v, f->count, (ad_real *)(void *)plain,
                       (ad_rev *)(void *)twin);
    else if (f->kind == ADX_BYTES)
        ad_visit_other(v, f->count, plain, twin);
    else
        for (size_t i = 0; i < f->count; i++)
            adx_walk_shape(v, f->shape(),
                           adx_at_offset(plain, i * f->shape()->plain),
                           adx_at_offset(twin, i * f->shape()->twin));
}

// Visits the fields of one struct. A pointer that is the last field, or the
// case of a union, is not visited: its node is put in *plain and *twin, and its
// shape is returned, so that the caller follows a list in a loop. NULL: there
// is nothing more.
static const ad_shape *adx_visit_fields(ad_visitor *v, const ad_shape *s,
                                        char **plain, char **twin)
{
    for (size_t i = 0; i < s->count && v->status == ADREV_OK; i++) {
        const adx_field *f = &s->field[i];
        char *p = adx_at_offset(*plain, f->plain);
        char *r = adx_at_offset(*twin, f->twin);
        // A union has one case, so nothing follows it.
        bool last = i + 1 == s->count || f->kind == ADX_CASE;
        if (f->kind < ADX_POINTER)
            adx_visit_part(v, f, p, r);
        else if (f->kind == ADX_CASE
                 ? !adx_is_case(v, f, v->from_rev ? *twin : *plain,
                                v->from_rev ? *plain : *twin)
                 : !adx_follow_link(v, f->shape(), v->from_rev ? &r : &p,
                                    v->from_rev ? &p : &r))
            continue;
        else if (!last)
            adx_walk_shape(v, f->shape(), p, r);
        else {
            *plain = p;
            *twin = r;
            return f->shape();
        }
    }
    return NULL;
}

static void adx_walk_shape(ad_visitor *v, const ad_shape *s, char *plain,
                           char *twin)
{
    while (s != NULL && s->visit == NULL)
        s = adx_visit_fields(v, s, &plain, &twin);
    if (s != NULL)
        s->visit(v, plain, twin);
}

// Walks once through both structs. `from_rev` says in which direction numbers
// go: from the twin to the plain struct, or the other way.
static ad_status adx_visit(ad_visitor *v, adx_visit_task task, bool check,
                           const ad_shape *s, const void *from, void *to)
{
    char *source = (char *)from;
    char *target = (char *)to;

    v->adx_work = task;
    v->adx_check = check;
    v->adx_count = 0;
    v->from_rev = task != ADX_TASK_INPUTS && task != ADX_TASK_CONSTANTS
               && task != ADX_TASK_MAKE_REV && task != ADX_TASK_PACK
               && task != ADX_TASK_UNPACK;
    adx_walk_shape(v, s, v->from_rev ? target : source,
                   v->from_rev ? source : target);
    return v->status;
}

ADX_API ad_status adx_struct_convert(adx_visit_task task, const ad_shape *s,
                                     const ad_allocator *make,
                                     const void *from, void *to)
{
    ad_visitor v = { .make = make };
    bool makes = task == ADX_TASK_MAKE_REV || task == ADX_TASK_MAKE_PLAIN;
    ad_status status = ADREV_OK;

    if (from == NULL || to == NULL
        || (makes && (make == NULL || make->alloc == NULL)))
        return ADREV_ESHAPE;
    // What is made has no nodes yet that could fail to match.
    if (makes)
        memset(to, 0, task == ADX_TASK_MAKE_REV ? s->twin : s->plain);
    else if (!adx_compact(s))
        status = adx_visit(&v, task, true, s, from, to);
    return status == ADREV_OK ? adx_visit(&v, task, false, s, from, to)
                              : status;
}

ADX_API size_t adx_struct_count(const ad_shape *s, const void *twin)
{
    ad_visitor v = {0};

    if (twin != NULL)
        adx_visit(&v, ADX_TASK_COUNT, false, s, twin, NULL);
    return v.adx_count;
}

// Converts between one struct and an array of its numbers. A first walk checks
// the length.
static ad_status adx_visit_array(ad_visitor *v, adx_visit_task task,
                                 const ad_shape *s, const void *one, size_t n)
{
    if (one == NULL || (n > 0 && v->adx_real == NULL && v->adx_rev == NULL))
        return ADREV_ESHAPE;
    ad_status status = adx_visit(v, task, true, s, one, NULL);
    if (status != ADREV_OK)
        return status;
    return v->adx_count != n ? ADREV_ESHAPE
                             : adx_visit(v, task, false, s, one, NULL);
}

ADX_API ad_status adx_struct_gather(const ad_shape *s, const void *twin,
                                    size_t n, ad_rev x[])
{
    ad_visitor v = { .adx_rev = x };
    return adx_visit_array(&v, ADX_TASK_GATHER, s, twin, n);
}

ADX_API ad_status adx_struct_pack(const ad_shape *s, const void *plain,
                                  size_t n, ad_real x[])
{
    ad_visitor v = { .adx_real = x };
    return adx_visit_array(&v, ADX_TASK_PACK, s, plain, n);
}

ADX_API ad_status adx_struct_unpack(const ad_shape *s, size_t n,
                                    const ad_real x[], void *plain)
{
    ad_visitor v = { .adx_real = (ad_real *)x };
    return adx_visit_array(&v, ADX_TASK_UNPACK, s, plain, n);
}

// A first walk checks that all numbers are values of this tape or constants;
// after the sweep a second one reads the adjoints of the values.
ADX_API ad_status adx_struct_pullback(const ad_shape *s, ad_tape *t, size_t m,
                                      const ad_rev y[], const ad_real dy[],
                                      const void *twin, void *plain)
{
    ad_visitor v = { .adx_tape = t };
    ad_status status = ad_tape_status(t);

    if (status == ADREV_OK && (twin == NULL || plain == NULL))
        status = ADREV_ESHAPE;
    if (status == ADREV_OK)
        status = adx_visit(&v, ADX_TASK_ADJOINTS, true, s, twin, plain);
    if (status == ADREV_OK && v.adx_count > 0 && !v.adx_active)
        status = ADREV_EPASSIVE;
    if (status == ADREV_OK)
        status = adx_pullback(t, m, y, dy, 0, NULL, NULL);
    if (status != ADREV_OK)
        return status;
    v.adx_real = adx_adjoints(t, adx_live(t)->seq, 1);
    return adx_visit(&v, ADX_TASK_ADJOINTS, false, s, twin, plain);
}

ADX_API ad_status adx_struct_gradient(const ad_shape *s, ad_tape *t, ad_rev y,
                                      const void *twin, void *plain)
{
    static const ad_real one = 1;
    return adx_struct_pullback(s, t, 1, &y, &one, twin, plain);
}

// The function that ad_check is given: it spreads the numbers over a twin, and
// calls f of the twin.
static ad_rev adx_struct_at(const ad_rev *x, void *ctx)
{
    const adx_struct_fn *of = (const adx_struct_fn *)ctx;
    ad_visitor v = { .adx_rev = (ad_rev *)x };
    adx_visit(&v, ADX_TASK_SPREAD, false, of->shape, of->twin, NULL);
    return of->call(of, of->twin);
}

ADX_API ad_status adx_struct_check(adx_struct_fn *of, const void *plain,
                                   ad_check_report *report)
{
    adx_session s;
    if (report == NULL)
        return ADREV_ESHAPE;
    report->filled = false;
    ad_status status = of->f == NULL ? ADREV_ESHAPE
        : adx_struct_convert(ADX_TASK_CONSTANTS, of->shape, NULL, plain,
                             of->twin);
    if (status == ADREV_OK)
        status = adx_open_session(&s);
    if (status != ADREV_OK)
        return status;

    of->n = adx_struct_count(of->shape, of->twin);
    ad_real *x = adx_array_of_reals(&s, of->n);
    if (x != NULL)
        status = adx_struct_pack(of->shape, plain, of->n, x);
    if (x != NULL && status == ADREV_OK)
        status = ad_check(adx_struct_at, of, of->n, x, report);
    status = adx_close_session(&s, status);
    // The twin gets its constants back, and the nodes behind its pointers are
    // still there.
    ad_ignore(adx_struct_convert(ADX_TASK_CONSTANTS, of->shape, NULL, plain,
                                 of->twin));
    return status;
}

#endif // ADREV_STRUCT_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION

/* ===========================================================================
 * MIT No Attribution (MIT-0)
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to
 * deal in the Software without restriction, including without limitation the
 * rights to use, copy, modify, merge, publish, distribute, sublicense, and/or
 * sell copies of the Software, and to permit persons to whom the Software is
 * furnished to do so.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING
 * FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS
 * IN THE SOFTWARE.
 * ======================================================================== */
