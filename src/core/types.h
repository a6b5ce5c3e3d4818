#pragma once

/* === core/types =============================================================
 * Conventions: arrays are dense. A Jacobian is m x n, row by row:
 * J[i*n + j] = dy[i]/dx[j]. Tangents (forward) start at the inputs, adjoints
 * (reverse) at the outputs. Angles are in radians. Non-finite values follow
 * IEEE 754, with one exception, everywhere and in every mode: in the chain
 * rule a factor of exactly zero gives zero, whatever the other factor is. So a
 * branch that is not taken never spoils a gradient, however a program is cut
 * into statements. (The last bit may depend on the cut: if a variable occurs
 * twice in one statement, its partials are added when that is recorded; if it
 * occurs in two statements, what they contribute is added in the sweep.)
 *
 *   needs   core/config cpp/members
 *   offers  adx_current adx_now adx_operand adx_slot adx_head ADX_WIDTHS
 *           adx_number ADX_RECORDED ADX_DUAL
 * ========================================================================== */

typedef ADREV_REAL ad_real;

// Files that do not agree on what a number is must not be linked. Each file
// refers to a symbol whose name says how it was compiled, and only the symbol
// of the implementation is defined. Private copies (ADREV_STATIC) take no part
// in this.
#ifdef ADREV_NO_THREADS
#if ADREV_FIXED             // so that the linker names it, too
#define adx_current adx_current_without_threads
#else
#define adx_now adx_now_without_threads
#endif
#define ADX_ALIKE_THREADS _and_ADREV_NO_THREADS
#else
#define ADX_ALIKE_THREADS
#endif
#ifdef ADREV_CURRENT
#define ADX_ALIKE_FIXED _and_ADREV_FIXED_and_ADREV_CURRENT
#elif ADREV_FIXED
#define ADX_ALIKE_FIXED _and_ADREV_FIXED
#else
#define ADX_ALIKE_FIXED
#endif
#define ADX_ALIKE_(real, threads, fixed)                                    \
    adx_ADREV_REAL_##real##threads##fixed##_in_all_files
#define ADX_ALIKE_OF(real, threads, fixed) ADX_ALIKE_(real, threads, fixed)
#define ADX_ALIKE ADX_ALIKE_OF(ADREV_REAL, ADX_ALIKE_THREADS, ADX_ALIKE_FIXED)
#if !defined ADREV_STATIC && (defined __GNUC__ || defined __clang__)
ADX_EXTERN const char ADX_ALIKE;
static const char *const adx_agreement __attribute__((used)) = &ADX_ALIKE;
#endif

// Compilers print the names of these structs in their messages about types, so
// the names say what to do. In C++, numbers and expressions also have
// constructors and operators (cpp/members, cpp/operators), and are in a
// namespace, where C++ finds the functions for them. Their layout is the same.
#ifdef __cplusplus
#define ADX_TAG(name, tag) name
namespace adrev {
ADX_OPERAND_TYPE(ad_rev, 1, false)
ADX_OPERAND_TYPE(ad_fwd, ADX_DUAL_WIDTH, false)
#else
#define ADX_TAG(name, tag) tag
#define ADX_REV_MEMBERS(name, real)
#define ADX_FWD_MEMBERS(name, real)
#define ADX_EXPR_MEMBERS(name)
#endif

// A number that remembers where it came from. Plain data: copy it as you
// like. All-zero bytes are the constant 0.
typedef struct ADX_TAG(ad_rev,
                       ad_rev_is_no_double_use_ad_mul_ad_exp_ad_value) {
    ad_real v;          // value
    uint32_t seq;       // which value of the recording; 0: none
    uint32_t job;       // which recording; 0: a constant
    ADX_REV_MEMBERS(ad_rev, ad_real)
} ad_rev;

// A number with its tangent: forward mode, without a tape.
typedef struct ad_fwd {
    ad_real v;          // value
    ad_real d;          // derivative along the chosen direction
    ADX_FWD_MEMBERS(ad_fwd, ad_real)
} ad_fwd;

#ifdef __cplusplus
}
using adrev::ad_rev;
using adrev::ad_fwd;
#endif

// One operand of a statement: 12 bytes with double, 8 with float. All that the
// packing does is to halve the alignment of a double.
#pragma pack(push, 4)
typedef struct adx_operand {
    ad_real d;          // partial derivative of the statement
    uint32_t id;        // with respect to this value; 0: a constant
} adx_operand;
#pragma pack(pop)

// One operand of an expression, which still has its compound id. The two halves
// of the id are one field, because gcc 12 keeps no more than 32 fields in
// registers.
typedef struct adx_slot {
    ad_real d;
    uint64_t id;                    // job * 2^32 + seq
} adx_slot;

// The head of an expression, which is not recorded yet.
typedef struct adx_head {
    ad_real v;                      // value
    uint32_t zero;                  // bits: slots with a factor of exactly zero
    unsigned risky;                 // 1: a slot may be NaN (number/expression)
    unsigned leaf;                  // 1: a recorded value and nothing else
} adx_head;

#ifdef __cplusplus
namespace adrev {
#if ADX_FUSES
ADX_OPERAND_TYPE(ad_expr_0, 0, true) ADX_OPERAND_TYPE(ad_expr_1, 1, true)
ADX_OPERAND_TYPE(ad_expr_2, 2, true) ADX_OPERAND_TYPE(ad_expr_3, 3, true)
ADX_OPERAND_TYPE(ad_expr_4, 4, true) ADX_OPERAND_TYPE(ad_expr_5, 5, true)
ADX_OPERAND_TYPE(ad_expr_6, 6, true) ADX_OPERAND_TYPE(ad_expr_7, 7, true)
ADX_OPERAND_TYPE(ad_expr_8, 8, true) ADX_OPERAND_TYPE(ad_expr_9, 9, true)
ADX_OPERAND_TYPE(ad_expr_10, 10, true) ADX_OPERAND_TYPE(ad_expr_11, 11, true)
ADX_OPERAND_TYPE(ad_expr_12, 12, true)
ADX_OPERAND_TYPE(ad_expr_dual, ADX_DUAL_WIDTH, true)
#else
ADX_OPERAND_TYPE(adx_number, 0, true)       // of either kind
#endif
#endif
#if ADX_FUSES
// Expressions with N slots, for recorded numbers. They live in registers.
#define ADX_WIDTHS(ROW)                                                     \
    ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7) ROW(8) ROW(9) ROW(10)  \
    ROW(11) ROW(12)
#define ADX_DEFINE(N)                                                       \
    typedef struct ADX_TAG(ad_expr_##N,                                     \
                           ad_expr_##N##_use_ad_rec_to_record_it) {         \
        adx_head head;                                                      \
        adx_slot slot[N];                                                   \
        ADX_EXPR_MEMBERS(ad_expr_##N)                                       \
    } ad_expr_##N;
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE

typedef struct ADX_TAG(ad_expr_0, ad_expr_of_constants) {
    adx_head head;
    ADX_EXPR_MEMBERS(ad_expr_0)
} ad_expr_0;

typedef struct ADX_TAG(ad_expr_dual, ad_expr_of_ad_fwd_use_ad_dual) {
    adx_head head;
    ad_real d;
    ADX_EXPR_MEMBERS(ad_expr_dual)
} ad_expr_dual;
#endif

// Where operators are called (ADX_FUSES is 0): a number of any kind, or the
// result of an operation, which is recorded already.
typedef struct ADX_TAG(adx_number, ad_expr_use_ad_rec_to_record_it) {
    ad_real v;
    ad_real d;                      // of ad_fwd
    uint64_t id;                    // of ad_rev
    unsigned kind;                  // 0: a constant
    ADX_EXPR_MEMBERS(adx_number)
} adx_number;
#ifdef __cplusplus
}
using adrev::adx_number;
#if ADX_FUSES
using adrev::ad_expr_0;
using adrev::ad_expr_dual;
#define ADX_DEFINE(N) using adrev::ad_expr_##N;
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#endif
#endif
#define ADX_RECORDED 1u
#define ADX_DUAL     2u

typedef struct ad_tape ad_tape;

// What can go wrong, and what ad_message says about it: what is wrong, and what
// to look at. If a status has several causes, ad_tape_reason or ad_fn_reason
// says which it was.
#define ADREV_STATUS_TABLE(ROW)                                                         \
    ROW( OK,       "success" )                                                          \
    ROW( ENOTAPE,  "no tape: the tape is NULL" )                                        \
    ROW( ENOMEM,   "out of memory: the allocator returned NULL" )                       \
    ROW( EFULL,    "the fixed memory of the tape is full: see ad_tape_missing" )        \
    ROW( ELIMIT,   "the recording has more than ADREV_VALUES values, or a number is too large" ) \
    ROW( EFOREIGN, "a value of another tape, or from before a clear or rewind" )        \
    ROW( EPASSIVE, "a constant where a recorded value is needed: was ad_use forgotten?" )  \
    ROW( EBEYOND,  "a function used x[n] or y[m], or beyond: n or m is too small" )    \
    ROW( ENONFINITE, "stopped at a number that is not finite: see ad_tape_failed_at" )  \
    ROW( ESHAPE,   "an impossible length, index or option; a null pointer; a result not set" )   \
    ROW( EMARK,    "the mark is not on this recording, or marks nest too deep" )        \
    ROW( EHOOK,    "something cannot be traced: see ad_tape_reason or ad_fn_reason" )  \
    ROW( EEXTERNAL,"an external statement, a loop or a store: a function is missing or failed" ) \
    ROW( EBUSY,    "in use: by a fork that is open, or by another thread" )             \
    ROW( ERACE,    "a value of a branch that may still run" )                           \
    ROW( EPATH,    "a recorded function: a comparison comes out differently here" )     \
    ROW( EFROZEN,  "a function and its recording differ nearby: it uses x.v, or more than x" )   \
    ROW( EFILE,    "not a saved function, or one that was altered" )                    \
    ROW( ECOMPILE, "not compiled (see ad_compile_report): evaluated without machine code" )  \
    ROW( ESYNTAX,  "a text of formulas is wrong (see ad_tensor_error), or it has no such name" ) \
    ROW( ESINGULAR,"a matrix is singular, or not positive definite: see ad_tape_reason" ) \
    ROW( EUNSOLVED,"what was given as a solution does not solve its equations" )      \
    ROW( EREMOTE,  "another rank failed: its own status says why" )

#define ADX_ENUM(name, text) ADREV_##name,
typedef enum ad_status {
    ADREV_STATUS_TABLE(ADX_ENUM) ADREV_STATUS_COUNT
} ad_status;
#undef ADX_ENUM

// Where a tape's memory comes from. Set both functions, or neither. `free` is
// given the pointer that `alloc` returned, and is called only when the tape is
// freed or outgrows its array of adjoints.
typedef struct ad_allocator {
    void *(*alloc)(size_t bytes, void *user);   // aligned as by malloc; or NULL
    void (*free)(void *block, void *user);
    void *user;
} ad_allocator;

// A place in a recording, to return to with ad_tape_rewind.
typedef struct ad_mark {
    void *adx_block;
    void *adx_op;
    void *adx_head;
    size_t adx_scratch;
    uint32_t adx_seq;
    uint32_t adx_job;
    uint32_t adx_entries : 31;
    uint32_t adx_one_way : 1;
    ad_status adx_status;
} ad_mark;

// The size of a recording, and the memory that its tape holds for it.
typedef struct ad_stats {
    size_t values;          // of inputs and statements: a sweep's adjoints
    size_t statements;
    size_t operands;
    size_t bytes;           // needed: see ad_tape_bytes
    size_t bytes_most;      // the most that was needed so far, with what has
                            // been rewound and what ad_grad and ad_jac took
    size_t bytes_held;      // allocated; or the size of the fixed memory
} ad_stats;
