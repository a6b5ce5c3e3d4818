#pragma once

/* === number/recording =======================================================
 * The hot path. An operator is a macro that finds the type of its expression
 * and calls one inlined function for each of its operands. What is left of a
 * whole expression is its arithmetic, one test, and one write to the tape.
 *
 *   offers  adx_job adx_context ADX_TRACED ADX_SINK ADX_SINCE adx_none ADX_SUM
 *           ADX_COUNT ADX_LEAF ADX_WATCHED ADX_NOTED ADX_HOW adx_record_apart
 *           adx_traced adx_traced_1 adx_traced_2 adx_observed
 *           adx_observed_exponent adx_refuse ADX_CALLED_1 ADX_CALLED_2
 *           ADX_CALLED_3 adx_call_* adx_call_choose adx_call_rec adx_call_dual
 *           adx_call_value adx_call_detach adx_call_acc_rev adx_call_acc_fwd
 *           adx_here adx_compound adx_word adx_name adx_numbered adx_passive
 *           adx_bits ADX_SPECIAL adx_bits_shifted adx_is_zero
 *           adx_is_number_one adx_is_nan ADX_UNORDERED adx_room adx_plain_rev
 *           adx_plain_fwd adx_plain_number adx_plain_float adx_detach_rev
 *           adx_detach_fwd ADX_OWN_TYPES ADX_ARITHMETIC ADX_NUMBERS
 *           ADX_NOTE_PLACE adx_z_ adx_proper adx_times adx_put adx_commit
 *           ADX_LOOK ADX_EXPONENT adx_exponent_of
 * ========================================================================== */

/* --- the thread's recording -------------------------------------------------
 * Operands grow upwards, statement headers downwards, in the same block of
 * memory, so one comparison tells whether it is full. The id here is of a
 * wider type than ids on the tape: so the compiler knows that storing an
 * operand does not change it.                                                */

// A number of a recording: 32 bits at least, also where size_t has 16.
#if UINTPTR_MAX > 0xffff
typedef size_t adx_job;
#else
typedef uint32_t adx_job;
#endif

typedef struct adx_context {
    adx_operand *op;        // next free operand
    size_t reserved;        // bytes of the gap to the headers not to be used
    uint16_t *head;         // last header written; not beside op: gcc would
                            // load both at once, and wait for both stores
    size_t seq;             // id of the last value
    adx_job job;            // of this recording; 0: no tape
#if !ADREV_FIXED
    size_t trace;           // 1: the hook wants every operation
#endif
    ad_tape *tape;          // NULL: no tape
#if !ADREV_FIXED
    size_t sink;            // the operand that stands for a constant: 0, or a
                            // value of this job if others sweep the same tape
    size_t since;           // where values up to this one lie on the tape
                            // depends on the schedule of threads
#endif
    const char *file;       // of the latest operation, with ADREV_DEBUG
    int line;
} adx_context;

// With ADREV_FIXED a tape's context stays in the tape, and a pointer says which
// is current: so an interrupt, or the scheduler of a real-time system,
// exchanges one word, and there is nothing that it could find half done.
// Otherwise the context of the current tape is in a thread-local variable,
// which takes one load less for everything.
#if ADREV_FIXED
#define ADX_TRACED false
#define ADX_SINK   ((size_t)0)
#define ADX_SINCE  ((size_t)0)
#ifdef ADREV_STATIC
static adx_context adx_none ADX_UNUSED;
#else
ADX_EXTERN adx_context adx_none;            // where no tape is current
#endif
#ifdef ADREV_CURRENT
// The context is what a tape begins with.
ADX_INLINE adx_context *adx_context_of_task(void)
{
    ad_tape *t = ADREV_CURRENT;
    return t == NULL ? &adx_none : (adx_context *)(void *)t;
}
#define adx_now (*adx_context_of_task())
#else
#ifdef ADREV_STATIC
static ADX_THREAD adx_context *adx_current ADX_UNUSED = &adx_none;
#else
ADX_EXTERN ADX_THREAD adx_context *adx_current;
#endif
#define adx_now (*adx_current)
#endif
#else
#define ADX_TRACED adx_now.trace
#define ADX_SINK   adx_now.sink
#define ADX_SINCE  adx_now.since
#ifdef ADREV_STATIC
static ADX_THREAD adx_context adx_now ADX_UNUSED;
#else
ADX_EXTERN ADX_THREAD adx_context adx_now;
#endif
#endif

// A header: the number of operands and, for a running sum, this flag: the
// value just before has partial 1 and is not stored.
#define ADX_SUM 0x100u

// What a statement is, besides its number of operands.
#define ADX_COUNT   0xffu
#define ADX_LEAF    0x400u      // a recorded value and nothing else
#define ADX_WATCHED 0x800u      // compiled with ADREV_TRACE
#define ADX_NOTED   0x1000u     // compiled with ADREV_DEBUG
#define ADX_HOW                                                             \
    ((ADREV_TRACE ? ADX_WATCHED : 0u) | (ADREV_DEBUG ? ADX_NOTED : 0u))

// Functions of the implementation, in tape/apart and tape/hooks.
ADX_API ad_rev adx_record_apart(ad_real v, unsigned how, adx_slot slot[],
                                unsigned zero, uint64_t into);
#if !ADREV_FIXED
ADX_API ad_rev adx_traced(ad_opcode code, ad_real v, ad_rev a, ad_real fa,
                          ad_rev b, ad_real fb, ad_rev c, ad_real fc);
ADX_API ad_rev adx_traced_1(ad_opcode code, ad_real v, ad_rev a, ad_real fa);
ADX_API ad_rev adx_traced_2(ad_opcode code, ad_real v, ad_rev a, ad_real fa,
                            ad_rev b, ad_real fb);
ADX_API void adx_observed(ad_opcode code, ad_real v, ad_rev a, ad_rev b);
ADX_API void adx_observed_exponent(ad_rev x, int k);
ADX_API void adx_refuse(void);
#endif

// Operators as functions, for number/called. `how` is ADX_HOW of the file that
// calls them.
#define ADX_CALLED_1 unsigned how, adx_number a
#define ADX_CALLED_2 ADX_CALLED_1, adx_number b
#define ADX_CALLED_3 ADX_CALLED_2, adx_number c
#define ADX_DEFINE(name, n, ...)                                            \
    ADX_API ADX_CHECKED adx_number adx_call_##name(ADX_CALLED_##n);
ADREV_OPS(ADX_DEFINE)
#undef ADX_DEFINE
#define ADX_DEFINE(name, ...)                                               \
    ADX_API ADX_CHECKED adx_number adx_call_##name(ADX_CALLED_1);
ADREV_STEPS(ADX_DEFINE)
#undef ADX_DEFINE
#define ADX_DEFINE(name, ...)                                               \
    ADX_API ADX_CHECKED bool adx_call_##name(ADX_CALLED_2);
ADREV_COMPARISONS(ADX_DEFINE)
#undef ADX_DEFINE
ADX_API ADX_CHECKED adx_number adx_call_choose(unsigned how, bool c,
                                               adx_number a, adx_number b);
ADX_API ADX_CHECKED ad_rev adx_call_rec(adx_number e);
ADX_API ADX_CHECKED ad_fwd adx_call_dual(unsigned how, adx_number e);
ADX_API ad_real adx_call_value(unsigned how, adx_number e);
ADX_API adx_number adx_call_detach(unsigned how, adx_number e);
ADX_API void adx_call_acc_rev(unsigned how, ad_rev *s, adx_number e);
ADX_API void adx_call_acc_fwd(unsigned how, ad_fwd *s, adx_number e);

ADX_INLINE void adx_here(const char *file, int line)
{
    adx_now.file = file;
    adx_now.line = line;
}

/* --- numbers and their ids ----------------------------------------------- */

ADX_INLINE uint64_t adx_compound(adx_job job, size_t seq)
{
    return (uint64_t)job << 32 | seq;
}

// The compound id, in one load.
ADX_INLINE uint64_t adx_word(const ad_rev *x)
{
#if ADX_WORDS
    uint64_t id;
    memcpy(&id, (const char *)x + offsetof(ad_rev, seq), sizeof id);
    return id;
#else
    return adx_compound(x->job, x->seq);
#endif
}

// Sets a number and its id. The two halves of the id are written at once,
// because programs read them so: a processor that must gather two stores for
// one load waits (half of the time of a tiny gradient).
ADX_INLINE void adx_name(ad_rev *x, ad_real v, uint64_t id)
{
    x->v = v;
#if ADX_WORDS
    memcpy((char *)x + offsetof(ad_rev, seq), &id, sizeof id);
#else
    x->seq = (uint32_t)id;
    x->job = (uint32_t)(id >> 32);
#endif
}

ADX_INLINE ad_rev adx_numbered(ad_real v, uint64_t id)
{
    ad_rev y;
    adx_name(&y, v, id);
    return y;
}

ADX_INLINE ad_rev adx_passive(ad_real v) { return adx_numbered(v, 0); }

#if ADREV_FIXED         // nothing is traced, so nobody calls these
ADX_INLINE ad_rev adx_traced(ad_opcode code, ad_real v, ad_rev a, ad_real fa,
                             ad_rev b, ad_real fb, ad_rev c, ad_real fc)
{
    (void)code; (void)a; (void)fa; (void)b; (void)fb; (void)c; (void)fc;
    return adx_passive(v);
}

ADX_INLINE void adx_observed(ad_opcode code, ad_real v, ad_rev a, ad_rev b)
{
    (void)code; (void)v; (void)a; (void)b;
}

ADX_INLINE void adx_observed_exponent(ad_rev x, int k) { (void)x; (void)k; }
ADX_INLINE void adx_refuse(void) { }
#define adx_traced_1(code, v, a, fa) adx_traced(code, v, a, fa, a, fa, a, fa)
#define adx_traced_2(code, v, a, fa, b, fb)                                 \
    adx_traced(code, v, a, fa, b, fb, b, fb)
#endif

// Whether a is zero, or NaN, asked of its bits where a comparison of numbers is
// a function call. Their leftmost one, the sign, does not matter.
#if defined __SIZEOF_DOUBLE__ && __SIZEOF_DOUBLE__ == 4     // AVR
#define ADX_BITS_double uint32_t
#else
#define ADX_BITS_double uint64_t
#endif
#define ADX_BITS_float uint32_t
typedef ADX_JOIN(ADX_BITS_, ADREV_REAL) adx_bits;
ADX_STATIC_ASSERT(sizeof(adx_bits) == sizeof(ad_real),
                  "adx_bits are the bits of a number");
#define ADX_SPECIAL (~(adx_bits)0 << (sizeof(ad_real) == 4 ? 24 : 53))

ADX_INLINE adx_bits adx_number_bits(ad_real a)
{
    adx_bits bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

ADX_INLINE adx_bits adx_bits_shifted(ad_real a)
{
    return (adx_bits)(adx_number_bits(a) << 1);
}

ADX_INLINE bool adx_is_zero(ad_real a)
{
    return ADREV_FIXED ? adx_bits_shifted(a) == 0 : a == 0;
}

ADX_INLINE bool adx_is_number_one(ad_real a)
{
    return ADREV_FIXED ? adx_number_bits(a) == adx_number_bits(1) : a == 1;
}

ADX_INLINE bool adx_is_nan(ad_real a)
{
    return ADREV_FIXED ? adx_bits_shifted(a) > ADX_SPECIAL : a != a;
}

#if defined __SOFTFP__ || (defined __riscv && !defined __riscv_flen)         \
    || (!defined __GNUC__ && !defined __clang__)
#define ADX_UNORDERED(a, b) ((int)adx_is_nan(a) | (int)adx_is_nan(b))
#else
#define ADX_UNORDERED(a, b) __builtin_isunordered(a, b)
#endif

// Fixed memory keeps room for an adjoint of each value, besides what is
// reserved.
ADX_INLINE bool adx_room(size_t need)
{
    size_t gap = (size_t)((const char *)adx_now.head
                          - (const char *)adx_now.op);
    if (ADREV_FIXED)
        gap -= adx_now.seq * sizeof(ad_real);
    return gap >= need + adx_now.reserved;
}

// The plain value. The program may do anything with it, so the trace hook is
// told of a constant.
ADX_INLINE ad_real adx_plain_rev(ad_rev x)
{
    if (ADREV_TRACE && x.job != 0 && ADX_UNLIKELY(ADX_TRACED))
        adx_observed(ADREV_OP_detach, x.v, x, x);
    return x.v;
}

ADX_INLINE ad_real adx_plain_fwd(ad_fwd x) { return x.v; }
ADX_INLINE ad_real adx_plain_number(ad_real x) { return x; }
ADX_INLINE ad_real adx_plain_float(float x) { return (ad_real)x; }

ADX_INLINE ad_rev adx_detach_rev(ad_rev x)
{
    if (ADREV_TRACE && x.job != 0 && ADX_UNLIKELY(ADX_TRACED))
        return adx_traced(ADREV_OP_detach, x.v, x, 0, x, 0, x, 0);
    return adx_passive(x.v);
}

ADX_INLINE ad_fwd adx_detach_fwd(ad_fwd x)
{
    x.d = 0;
    return x;
}

#define ADX_DEFINE(name, operator)                                          \
    ADX_INLINE bool adx_f_##name(ad_real x, ad_real y)                      \
        { return x operator y; }
ADREV_COMPARISONS(ADX_DEFINE)
#undef ADX_DEFINE

#ifndef __cplusplus
// Types that an operand may have, and the functions that take them.
#define ADX_OWN_TYPES(ROW)                                                  \
    ROW(float, float) ROW(double, double) ROW(long_double, long double)     \
    ROW(integer, long long) ROW(unsigned, unsigned long long)
#define ADX_ARITHMETIC(ROW)                                                 \
    ROW(float) ROW(double) ROW(long double) ROW(int) ROW(long)              \
    ROW(long long) ROW(unsigned) ROW(unsigned long) ROW(unsigned long long)
#define ADX_NUMBERS(own)                                                    \
    float: own##_float, double: own##_double,                               \
    long double: own##_long_double,                                         \
    unsigned: own##_unsigned, unsigned long: own##_unsigned,                \
    unsigned long long: own##_unsigned, _Bool: own##_integer,               \
    char: own##_integer, signed char: own##_integer,                        \
    unsigned char: own##_integer, short: own##_integer,                     \
    unsigned short: own##_integer, int: own##_integer, long: own##_integer, \
    long long: own##_integer
#endif

#if ADREV_DEBUG
#define ADX_NOTE_PLACE adx_here(__FILE__, __LINE__);
#else
#define ADX_NOTE_PLACE
#endif

#if defined __GNUC__ && !defined __clang__ && !defined __cplusplus
// The operands' names at file scope. If there is a mistake in an operand, the
// variable that it should have set is not declared; its name then finds one of
// these numbers, which nobody defines, so gcc reports the one mistake only.
extern const ad_rev adx_x_, adx_y_, adx_z_;
#endif

// Whether the compiler knows that f is neither zero nor infinite nor NaN, so
// that f times anything is what the chain rule wants. There is no && or ||
// here, nor in what number/expression does with each slot: each branch costs
// time to compile, even if it is known which way it goes.
ADX_INLINE bool adx_proper(ad_real f)
{
    return (ADX_KNOWN(f) != 0) & (f != 0) & (f - f == 0);
}

// The chain rule's product: a zero factor gives zero even against inf or NaN
// (core/types).
ADX_INLINE ad_real adx_times(ad_real f, ad_real d)
{
    ad_real p = f * d;
    if (adx_proper(d) || adx_proper(f))
        return p;
    p = f == 0 ? 0 : p;
    return d == 0 ? 0 : p;
}

ADX_INLINE adx_operand *adx_put(adx_operand *op, ad_real d, uint64_t id)
{
    op->d = d;
    op->id = (uint32_t)id;
    return op + 1;
}

// A statement has at least one operand, besides that which ADX_SUM stands for:
// with ADREV_FIXED adx_spread_plain relies on it.
ADX_INLINE ad_rev adx_commit(ad_real v, adx_operand *op, unsigned header)
{
    adx_now.op = op;
    *--adx_now.head = (uint16_t)header;
    ad_rev y;
    adx_name(&y, v, adx_compound(adx_now.job, ++adx_now.seq));
    return y;
}

// Whether each statement has to be looked at: because its place is noted, or a
// hook is told.
#define ADX_LOOK (ADREV_DEBUG || (ADREV_TRACE && ADX_TRACED))

ADX_INLINE ad_real adx_exponent(int k) { return (ad_real)k; }
#ifdef __cplusplus
ad_real adx_exponent(long double k) = delete;   // nor of any other real type
ad_real adx_exponent(double k) = delete;
ad_real adx_exponent(float k) = delete;
#endif

// An exponent, or an order, must be an integer: 0.5 would become 0.
#ifdef __cplusplus
#define ADX_EXPONENT(k) adx_exponent(k)
#else
#if defined __GNUC__ && (!defined __clang__ || __clang_major__ >= 14)
ad_real adx_no_exponent(long double k) __attribute__((
    error("an exponent of ad_powi or ad_ldexp, or an order, is an integer")));
#else
ad_real adx_no_exponent(long double k);         // that nobody defines
#endif
#define ADX_EXPONENT(k)                                                     \
    _Generic((k), float: adx_no_exponent, double: adx_no_exponent,          \
             long double: adx_no_exponent, default: adx_exponent)(k)
#endif

// The exponent that frexp gives; 0 for zeros, infinities and NaNs.
ADX_INLINE int adx_exponent_of(ad_real v)
{
    int k = 0;
    if (v - v == 0)
        (void)frexp((double)v, &k);
    return k;
}
