#pragma once

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
