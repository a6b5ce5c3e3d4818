/* Made from src/ by `make headers`: changes belong there. */
/* adrev - automatic differentiation for C11.                          0.1.0
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev.h"
 *
 * Record a computation, sweep it once backwards, read the gradient:
 *
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         ad_tape *t = ad_tape_new();
 *         ad_use(t);
 *         ad_rev x = ad_input(1.5);
 *         ad_rev y = ad_rec(ad_mul(x, ad_sin(x)));
 *         double g = 0;
 *         ad_status s = ad_gradient(t, y, 1, &x, &g);
 *         printf("%s: y = %.6f, dy/dx = %.6f\n", ad_message(s),
 *                ad_value(y), g);
 *         ad_tape_free(t);
 *     }
 *
 *     success: y = 1.496242, dy/dx = 1.103601          sin x + x cos x
 *
 * Operators build an expression; ad_rec records the whole expression as one
 * statement on the tape of the calling thread. Plain C numbers are constants,
 * and so is what is computed from constants alone: they have no derivative. The
 * same operators on ad_fwd are forward mode, which needs no tape. In C++ one
 * writes ad_rev y = x * sin(x); (docs/cpp.md).
 *
 * Not included: complex numbers, GPU.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   core/config         switches; what compilers spell differently
 *   cpp/members         C++: constructors and conversions of numbers
 *   core/types          numbers, statuses, statistics; conventions
 *   core/operations     the operator table: values, partials, kinks
 *   core/api            the interface: every public function
 *   number/recording    the thread's recording; numbers and their ids
 *   number/expression   expressions, and how one becomes a statement
 *   number/operators    operators on expressions
 *   number/called       operators as function calls, without fusing
 *   number/fronts       what users write: ad_mul, ad_rec
 *   cpp/operators       C++: operators on numbers and expressions
 *   cpp/library         C++: functions of <cmath>, numeric_limits
 *   tape/layout         entries, blocks, jobs and failures of a tape
 *   tape/memory         blocks, or fixed memory; memory that is kept
 *   tape/entries        entries that are not statements: inputs
 *   tape/hooks          values of other recordings; trace hooks
 *   tape/apart          statements that are unusual
 *   tape/life           how a tape is made, cleared, rewound, freed
 *   tape/walk           from entry to entry; sizes
 *   sweep/sweep         the loops of reverse and forward sweeps
 *   sweep/queries       gradients, pullbacks, Jacobians of a recording
 *   sweep/session       ad_grad and ad_jac
 *   core/special        long functions: digamma, Bessel functions
 *   core/incomplete     the incomplete gamma functions
 *   core/beta           the incomplete beta functions
 *   core/cells          reads the cells of the operator table as operations
 *   core/exported       the operator table as data; operators by code
 *   array/operands      views of arrays, and how their ids are stored
 *   array/linear        statements that are sums of terms
 *   array/sums          sums, norms, operations on elements, softmax
 *   array/products      products of matrices
 *   array/external      forms without strides; ad_external
 *   check/differences   differences, and how they are judged
 *   check/examine       ad_check
 *   check/explain       what is not finite; where a number comes from
 *   check/tie           whether numbers that are equal are so nearby, too
 *   check/print         dumps, and the report of ad_check
 *
 * SPDX-License-Identifier: MIT-0           (the text stands at the end)
 */

#ifndef ADREV_H
#define ADREV_H

#if !defined __cplusplus                                                    \
    && (!defined __STDC_VERSION__ || __STDC_VERSION__ < 201112L)
#error adrev needs C11 or later: compile with -std=c11
#endif

// When gcc reports a mistake, it shows each macro on the way to it, three lines
// at a time, except for macros of a system header. For work on adrev itself
// ADREV_STRICT brings these lines back, and warnings about the header.
#if defined __GNUC__ && !defined __clang__ && !defined ADREV_STRICT
#pragma GCC system_header
#endif

#define ADREV_VERSION_MAJOR 0
#define ADREV_VERSION_MINOR 1
#define ADREV_VERSION_PATCH 0
#define ADREV_VERSION       "0.1.0"
#define ADREV_VERSION_NUMBER                                                \
    (ADREV_VERSION_MAJOR * 10000 + ADREV_VERSION_MINOR * 100               \
     + ADREV_VERSION_PATCH)

/* === core/config ============================================================
 * Define a switch before the header is included. Where it must be defined:
 *
 *     ADREV_REAL, ADREV_FIXED, ADREV_NO_THREADS, ADREV_CURRENT
 *                                    alike in all files of the program; if they
 *                                    differ, gcc and clang refuse to link it
 *     ADREV_FUSE, ADREV_TRACE        alike in files that pass expressions to
 *                                    one another
 *     ADREV_DEBUG, ADREV_STATIC      in each file as that file needs it
 *     ADREV_COUNT                    in the file with ADREV_IMPLEMENTATION, and
 *                                    in those whose operations are counted
 *     the others                     in the file with ADREV_IMPLEMENTATION
 *
 * Do not compile with -ffast-math: zero times infinity is then whatever the
 * compiler likes.
 *
 *   offers  ADX_EXTERN ADX_ZERO ADX_STATIC_ASSERT ADX_INLINE ADX_CHECKED
 *           ADX_COLD ADX_NOINLINE ADX_APART ADX_UNUSED ADX_UNLIKELY ADX_LIKELY
 *           ADX_KNOWN ADX_OPAQUE ADX_FAST ADX_SELDOM ADX_FRAME ADX_LANES
 *           ADX_WORDS ADX_FAR ADX_FETCH ADX_FUSES ADX_QUIET ADX_LOUD
 *           ADX_SELDOM_BEGIN ADX_SELDOM_END ADX_API ADX_TRY ADX_THREAD
 * ========================================================================== */

// ADREV_REAL    the type of a value: double or float.       default double
//   float: 12-byte numbers, 8-byte operands, and the f-functions of <math.h>.
#ifndef ADREV_REAL
#define ADREV_REAL double
#endif

// ADREV_TRACE   1: hooks can watch operations, see ad_hooks.     default 0
//   For files whose functions are recorded by adrev_function.h. Each operation
//   tests one thread-local word. That costs nothing in nn and particles (rows
//   of BENCHMARKS.md) and a fifth in loop and lstm; recording burgers takes 1.6
//   times as long with clang 14, 3 times with gcc 12.
#ifndef ADREV_TRACE
#define ADREV_TRACE 0
#define ADX_TRACE_UNSET         // adrev_function.h asks for it
#endif

// ADREV_FUSE    most operands of one statement.         default 12, 1 to 12
//   An expression with more operands is split. 12 is enough for a five-point
//   stencil (burgers, bench/: 1.2 times as fast as with 8). 1: each operator is
//   a function call and makes a statement. That compiles fast, and saves
//   nothing else: of four programs for a Cortex-M4F (tests/firmware, -Os) the
//   code is a quarter to a half larger, the tape 1.6 times as large, and they
//   take 3 to 9 times as many instructions. With gcc and ADREV_TRACE the
//   default is 6, because gcc 12 then keeps wider expressions in memory (a cell
//   of lstm takes 6 times as long with 7). Without GNU C it is 1, whatever is
//   asked for: one statement takes statement expressions.
#if !defined __GNUC__ && !defined __clang__
#undef ADREV_FUSE
#define ADREV_FUSE 1
#endif
#ifndef ADREV_FUSE
#if ADREV_TRACE && defined __GNUC__ && !defined __clang__
#define ADREV_FUSE 6
#else
#define ADREV_FUSE 12
#endif
#endif

// ADREV_BLOCK   bytes of a growing tape's first block.       default 65536
//   Each further block doubles the tape, until a block has 256 MiB. A block
//   that would be too small for a statement is made larger.
#ifndef ADREV_BLOCK
#define ADREV_BLOCK 65536
#endif

// ADREV_MARKS   depth to which rewound marks may nest.          default 16
//   Each level takes 12 bytes of the tape.
#ifndef ADREV_MARKS
#define ADREV_MARKS 16
#endif

// ADREV_VALUES  most values in one recording.             default 2^32 - 2
//   Ids are 32 bits wide. One value more fails the tape with ADREV_ELIMIT.
#ifndef ADREV_VALUES
#define ADREV_VALUES 4294967294u
#endif

// ADREV_DEBUG   1: every statement knows its file and line.      default 0
//   Costs 26 bytes and a function call per statement. With ADREV_FIXED, needed
//   in the file with ADREV_IMPLEMENTATION, too.
#ifndef ADREV_DEBUG
#define ADREV_DEBUG 0
#endif

// ADREV_FIXED   1: for small machines: no tapes but those of ad_tape_in, no
//               hooks, no forks.                           default 0, 0 to 2
//   A gradient then takes half of the code, and a recording fewer instructions.
//   What would make a tape that grows, or set hooks, is not declared. Other
//   headers than adrev_struct.h need 0. 2, in the file with
//   ADREV_IMPLEMENTATION: nor are array or external statements defined, and
//   sweeps need no code for them.
#ifndef ADREV_FIXED
#define ADREV_FIXED 0
#endif

// ADREV_STATIC     all functions are private to the including file: no symbols.
//                  Numbers must not pass from such a file to another. The
//                  compiler then drops what is not used. Otherwise the linker
//                  has to: compile with -ffunction-sections -fdata-sections and
//                  link with -Wl,--gc-sections, or all of the library is in the
//                  program (of a microcontroller: 85 kB instead of 5).
// ADREV_NO_THREADS plain static state instead of thread-local. That is the
//                  default where there is no operating system that adrev knows
//                  and the C library is newlib or picolibc, or the program is
//                  freestanding; there ADREV_THREADS asks for thread-local
//                  state.
// ADREV_CURRENT    where the tape is kept that is current: an lvalue of type
//                  ad_tape *, NULL at first, one for each task of the program.
//                  For tasks of a real-time system, say
//
//                      struct ad_tape **my_slot(void);     // of this task
//                      #define ADREV_CURRENT (*my_slot())
//
//                  Needs ADREV_FIXED. Without it one pointer serves all. Then,
//                  too, an interrupt may record on a tape of its own, if it
//                  makes that current and, when it ends, what ad_use returned.
// ADREV_NO_STDLIB  no malloc: tapes come only from ad_tape_in and
//                  ad_tape_new_with, and recorded functions need an allocator
//                  in their options. (adrev_parallel.h calls malloc all the
//                  same.) adrev.h then needs <math.h> and the headers that
//                  every compiler has; where a freestanding program has no
//                  <string.h>, memcpy, memmove, memset and memcmp, which
//                  compilers call, and, for names, strcmp, strncmp and strlen.

// ADREV_NO_BESSEL  no ad_jn, ad_yn, ad_j0 ...: for C libraries without jn and
//                  yn, which POSIX has and C does not. What calls them where
//                  the header is included without the switch gives NaN.

// ADREV_COUNT   1: operations are counted, see ad_counts.     default 0
//   For tests of how much work a derivative takes. Slow.
#ifndef ADREV_COUNT
#define ADREV_COUNT 0
#endif

/* --- base -------------------------------------------------------------------
 * The C library's headers, and the few things that compilers spell
 * differently. core/ and number/ keep to what C11 and C++11 both have.       */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __AVR__ && !defined HUGE_VAL
#define HUGE_VAL INFINITY       // avr-libc has none
#endif

#ifdef __cplusplus
#define ADX_EXTERN extern "C"
#define ADX_ZERO {}
#define ADX_STATIC_ASSERT static_assert
#else
#define ADX_EXTERN extern
#define ADX_ZERO {0}
#define ADX_STATIC_ASSERT _Static_assert
#endif

// Not every freestanding program has <string.h>. Compilers call the first four
// all the same; the others compare names.
#if defined __STDC_HOSTED__ && !__STDC_HOSTED__ && defined __has_include
#if !__has_include(<string.h>)
#define ADX_NO_STRING
#endif
#endif
#ifndef ADX_NO_STRING
#include <string.h>
#else
ADX_EXTERN void *memcpy(void *to, const void *from, size_t n);
ADX_EXTERN void *memmove(void *to, const void *from, size_t n);
ADX_EXTERN void *memset(void *to, int byte, size_t n);
ADX_EXTERN int memcmp(const void *a, const void *b, size_t n);
ADX_EXTERN int strcmp(const char *a, const char *b);
ADX_EXTERN int strncmp(const char *a, const char *b, size_t n);
ADX_EXTERN size_t strlen(const char *text);
#endif

#if defined __GNUC__ || defined __clang__
#ifdef __OPTIMIZE__
#define ADX_INLINE static inline __attribute__((always_inline, unused))
#else
#define ADX_INLINE static inline ADX_UNUSED
#endif
#define ADX_CHECKED __attribute__((warn_unused_result))
#define ADX_COLD __attribute__((noinline, cold))
#define ADX_NOINLINE __attribute__((noinline))
#define ADX_APART static __attribute__((noinline, unused))
#define ADX_UNUSED __attribute__((unused))
#define ADX_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define ADX_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define ADX_KNOWN(value) __builtin_constant_p((double)(value))
#define ADX_OPAQUE(pointer) __asm__("" : "+r"(pointer))
#else
#define ADX_INLINE static inline
#define ADX_CHECKED
#define ADX_COLD
#define ADX_NOINLINE
#define ADX_APART static
#define ADX_UNUSED
#define ADX_UNLIKELY(condition) (condition)
#define ADX_LIKELY(condition) (condition)
#define ADX_KNOWN(value) 0
#define ADX_OPAQUE(pointer) ((void)0)
#endif

// Inlined where speed counts; with ADREV_FIXED the compiler decides. There an
// ADX_FRAME has a stack frame of its own, which its caller does not keep while
// it calls others.
#if ADREV_FIXED
#define ADX_FAST   static ADX_UNUSED
#define ADX_SELDOM ADX_NOINLINE
#define ADX_FRAME  ADX_NOINLINE
#else
#define ADX_FAST   ADX_INLINE
#define ADX_SELDOM ADX_COLD
#define ADX_FRAME
#endif

// Sweeps of several directions work on vectors, on processors that have
// registers for them or 64 bits: the tape is then read once for all. On the
// others a sweep takes the directions one by one, with less code.
#if !ADREV_FIXED && (defined __GNUC__ || defined __clang__)                 \
    && (UINTPTR_MAX > 0xffffffff || defined __SSE2__ || defined __ARM_NEON  \
        || defined __wasm_simd128__ || defined __ALTIVEC__)
#define ADX_LANES 1
#endif

// Whether a compound id is read and written as one word: where that is one
// access to memory.
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__     \
    && UINTPTR_MAX > 0xffffffff
#define ADX_WORDS 1
#else
#define ADX_WORDS 0
#endif

// Prefetches memory that is written or read in order, this far ahead. (bench:
// burgers, gcc, 0.67. Any distance from 2 to 20 kB does as well.) Not on 32
// bits: microcontrollers have no caches to fill.
#define ADX_FAR 4800            /* bytes */
#if (defined __GNUC__ || defined __clang__) && UINTPTR_MAX > 0xffffffff
#define ADX_FETCH(address) __builtin_prefetch((const void *)(address))
#else
#define ADX_FETCH(address) ((void)(address))
#endif

// Whether state is thread-local. Without an operating system there are no
// threads, and what would find thread-local memory is often missing, too.
#if !defined ADREV_NO_THREADS && !defined ADREV_THREADS                     \
    && (defined __NEWLIB__ || defined __PICOLIBC__ || defined __AVR__       \
        || (defined __STDC_HOSTED__ && !__STDC_HOSTED__))                   \
    && !defined __unix__ && !defined __APPLE__ && !defined _WIN32           \
    && !defined __wasm__
#define ADREV_NO_THREADS
#endif

// Whether an expression is recorded as one statement. If not, each operator is
// called, and recorded by itself.
#if ADREV_FUSE > 1
#define ADX_FUSES 1
#else
#define ADX_FUSES 0
#endif

// Around names that hide those of an enclosing operator on purpose, to silence
// the warning. gcc gives no warnings in a system header; with ADREV_STRICT,
// where it would, this one is off in the whole file.
#ifdef __clang__
#define ADX_QUIET                                                           \
    _Pragma("clang diagnostic push")                                        \
    _Pragma("clang diagnostic ignored \"-Wshadow\"")
#define ADX_LOUD _Pragma("clang diagnostic pop")
#pragma clang diagnostic ignored "-Wgnu-auto-type"      // ad_expr
#else
#define ADX_QUIET
#define ADX_LOUD
#endif
#if defined __GNUC__ && !defined __clang__ && defined ADREV_STRICT
#pragma GCC diagnostic ignored "-Wshadow"
#endif

// Around functions that run once for many sweeps or replays, so that compilers
// spend less time on them: checks, dumps, and whatever prints, saves, loads,
// plans or derives one program from another. (A third of the time with gcc,
// half of it with clang; deriving a program takes 5 % longer.) Loops over the
// numbers of a recording do not belong there, nor do their helpers. Off at -O0,
// where code should stay as it is written, and where the whole file is compiled
// for size.
#if !defined __OPTIMIZE__ || defined __OPTIMIZE_SIZE__
#define ADX_SELDOM_BEGIN
#define ADX_SELDOM_END
#elif defined __clang__
#define ADX_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define ADX_SELDOM_BEGIN                                                    \
    ADX_PRAGMA(clang attribute push(__attribute__((minsize)),               \
                                    apply_to = function))                   \
    ADX_PRAGMA(clang attribute push(__attribute__((noinline)),              \
                                    apply_to = function))
#define ADX_SELDOM_END                                                      \
    ADX_PRAGMA(clang attribute pop) ADX_PRAGMA(clang attribute pop)
#elif defined __GNUC__
#define ADX_SELDOM_BEGIN                                                    \
    _Pragma("GCC push_options")                                             \
    _Pragma("GCC optimize(\"Og\", \"inline-functions-called-once\")")
#define ADX_SELDOM_END _Pragma("GCC pop_options")
#else
#define ADX_SELDOM_BEGIN
#define ADX_SELDOM_END
#endif

#ifdef ADREV_STATIC
#define ADX_API static ADX_UNUSED
#else
#define ADX_API ADX_EXTERN
#endif

// A function whose status alone says that it failed: compilers warn where it is
// dropped. (A function that leaves its status on the tape is ADX_API.)
#define ADX_TRY ADX_API ADX_CHECKED

// Thread-local without a constructor. In a shared library, initial-exec saves a
// call for each access; elsewhere the compiler's own choice is as good.
#ifdef ADREV_NO_THREADS
#define ADX_THREAD
#elif (defined __GNUC__ || defined __clang__) && defined __PIC__            \
    && !defined __PIE__
#define ADX_THREAD __thread __attribute__((tls_model("initial-exec")))
#elif defined __GNUC__ || defined __clang__
#define ADX_THREAD __thread
#else
#define ADX_THREAD _Thread_local
#endif

#if ADREV_FIXED && ADREV_TRACE && !defined ADX_TRACE_UNSET
#error "ADREV_FIXED: there are no hooks, and nothing for ADREV_TRACE to tell"
#endif
#if defined ADREV_CURRENT && !ADREV_FIXED
#error "ADREV_CURRENT needs ADREV_FIXED"
#endif

ADX_STATIC_ASSERT(ADREV_FIXED >= 0 && ADREV_FIXED <= 2, "ADREV_FIXED: 0 to 2");
ADX_STATIC_ASSERT(ADREV_FUSE >= 1 && ADREV_FUSE <= 12, "ADREV_FUSE: 1 to 12");
ADX_STATIC_ASSERT(ADREV_MARKS >= 1, "ADREV_MARKS: at least 1");
ADX_STATIC_ASSERT(ADREV_VALUES <= 4294967294u, "ids are 32 bits wide");

/* === cpp/members ============================================================
 * What numbers and expressions have in C++ besides their fields: constructors
 * and explicit conversions. All of them stay trivial and of the layout that
 * they have in C, so a number crosses the border as it is, may lie in a union
 * or in calloc's memory, and is not set where it is declared without a value.
 *
 * An expression holds numbers and ids, never references. So an expression that
 * is stored in a variable (auto e = x * y) can be used later as well.
 *
 *   offers  adx_any ADX_DUAL_WIDTH ADX_OPERAND_TYPE ADX_SWITCHES ADX_CALLER_IS
 *           ADX_NO_PLACE ADX_MEMBER
 * ========================================================================== */

#ifdef __cplusplus

#include <iosfwd>
#include <limits>

namespace adrev {

template <bool yes> struct adx_if { };
template <> struct adx_if<true> { typedef int type; };

// Plain numbers: the arithmetic types, and enumerations that become integers by
// themselves.
template <class Any> struct adx_arithmetic
{
    static constexpr bool yes = false;
    static constexpr bool whole = false;
};
#define ADX_DEFINE(type, is_whole)                                          \
    template <> struct adx_arithmetic<type>                                 \
    {                                                                       \
        static constexpr bool yes = true;                                   \
        static constexpr bool whole = is_whole;                             \
    };
ADX_DEFINE(float, 0) ADX_DEFINE(double, 0) ADX_DEFINE(long double, 0)
ADX_DEFINE(bool, 1) ADX_DEFINE(char, 1) ADX_DEFINE(signed char, 1)
ADX_DEFINE(unsigned char, 1) ADX_DEFINE(short, 1)
ADX_DEFINE(unsigned short, 1) ADX_DEFINE(int, 1) ADX_DEFINE(unsigned, 1)
ADX_DEFINE(long, 1) ADX_DEFINE(unsigned long, 1) ADX_DEFINE(long long, 1)
ADX_DEFINE(unsigned long long, 1)
#undef ADX_DEFINE

template <class Any> Any adx_any();
struct adx_no { char no[2]; };
char adx_counts(long double);
adx_no adx_counts(...);

template <class Any, bool is_enum> struct adx_plain_kind
{
    static constexpr bool yes = adx_arithmetic<Any>::yes;
};
template <class Any> struct adx_plain_kind<Any, true>
{
    static constexpr bool yes = sizeof(adx_counts(adx_any<Any>())) == 1;
};
template <class Any> struct adx_plain_type
    : adx_plain_kind<Any, __is_enum(Any)> { };

// How many operands something is (number/expression), an expression of forward
// numbers being 16. `ours` is 0 for plain numbers, and what is none is -1.
template <class Any> struct adx_sort
{
    static constexpr int width = adx_plain_type<Any>::yes ? 0 : -1;
    static constexpr bool ours = false;
    static constexpr bool expr = false;
};
template <class Any> struct adx_sort<const Any> : adx_sort<Any> { };
#define ADX_DUAL_WIDTH 16
#define ADX_OPERAND_TYPE(name, n, is_expr)                                  \
    struct name;                                                            \
    template <> struct adx_sort<name>                                       \
    {                                                                       \
        static constexpr int width = n;                                     \
        static constexpr bool ours = true;                                  \
        static constexpr bool expr = is_expr;                               \
    };

template <class Any> using adx_if_plain =
    typename adx_if<adx_plain_type<Any>::yes>::type;
template <class Any> using adx_if_whole =
    typename adx_if<adx_arithmetic<Any>::whole>::type;

// An expression that becomes an ad_rev or an ad_fwd; one that has room in an
// expression of another width.
template <class Any> using adx_if_recorded =
    typename adx_if<adx_sort<Any>::expr
                    && adx_sort<Any>::width != ADX_DUAL_WIDTH>::type;
template <class Any> using adx_if_forward =
    typename adx_if<adx_sort<Any>::expr
                    && adx_sort<Any>::width % ADX_DUAL_WIDTH == 0>::type;
template <class Wide, class Any> using adx_if_narrower =
    typename adx_if<adx_sort<Any>::expr
                    && adx_sort<Any>::width < adx_sort<Wide>::width
                    && (adx_sort<Wide>::width < ADX_DUAL_WIDTH
                        || adx_sort<Any>::width == 0)>::type;

// What becomes a number of this type, and how one becomes an integer: from,
// whole, widen (cpp/operators).
template <class Number, unsigned how> struct adx_convert;

} // namespace adrev

// A file's switches. What the compiler makes of a template may not be shared
// with files that were compiled with others.
#define ADX_SWITCHES                                                        \
    (ADREV_FUSE | (ADREV_TRACE != 0) << 8 | (ADREV_DEBUG != 0) << 9         \
     | (ADREV_COUNT != 0) << 10)

// With ADREV_DEBUG an expression is recorded with the place where it becomes a
// number.
#if ADREV_DEBUG
#define ADX_CALLER                                                          \
    , const char *adx_at_file = __builtin_FILE(),                           \
    int adx_at_line = __builtin_LINE()
#define ADX_CALLER_IS  , const char *adx_at_file, int adx_at_line
#define ADX_PASS_PLACE , adx_at_file, adx_at_line
#define ADX_NO_PLACE   , nullptr, 0
#else
#define ADX_CALLER
#define ADX_CALLER_IS
#define ADX_PASS_PLACE
#define ADX_NO_PLACE
#endif

#if (defined __GNUC__ || defined __clang__) && defined __OPTIMIZE__
#define ADX_MEMBER inline __attribute__((always_inline))
#else
#define ADX_MEMBER inline
#endif

// The whole part, and whether it is not 0: what a cast to an integer is, and an
// `if`. There is no conversion to a floating type, which would lose the
// derivative: ad_value says so.
#define ADX_CASTS(name)                                                     \
    template <class Whole, unsigned how = ADX_SWITCHES,                     \
              adrev::adx_if_whole<Whole> = 0>                               \
    ADX_MEMBER explicit operator Whole() const                              \
    {                                                                       \
        return adx_convert<name, how>::whole(*this,                         \
                                             static_cast<Whole *>(nullptr)); \
    }

#define ADX_REV_MEMBERS(name, real)                                         \
    name() = default;                                                       \
    template <class Plain, adx_if_plain<Plain> = 0>                         \
    constexpr name(Plain x) noexcept                                        \
        : v(static_cast<real>(x)), seq(0), job(0) { }                       \
    template <class Expr, unsigned how = ADX_SWITCHES,                      \
              adx_if_recorded<Expr> = 0>                                    \
    ADX_MEMBER name(const Expr &e ADX_CALLER)                               \
    {                                                                       \
        *this = adx_convert<name, how>::from(e ADX_PASS_PLACE);             \
    }                                                                       \
    ADX_CASTS(name)

#define ADX_FWD_MEMBERS(name, real)                                         \
    name() = default;                                                       \
    constexpr name(real v_, real d_) noexcept : v(v_), d(d_) { }            \
    template <class Plain, adx_if_plain<Plain> = 0>                         \
    constexpr name(Plain x) noexcept : v(static_cast<real>(x)), d(0) { }    \
    template <class Expr, unsigned how = ADX_SWITCHES,                      \
              adx_if_forward<Expr> = 0>                                     \
    ADX_MEMBER name(const Expr &e ADX_CALLER)                               \
    {                                                                       \
        *this = adx_convert<name, how>::from(e ADX_PASS_PLACE);             \
    }                                                                       \
    ADX_CASTS(name)

// A plain number, or an expression with fewer operands, becomes one with more
// where both are results of a ?:.
#define ADX_EXPR_MEMBERS(name)                                              \
    name() = default;                                                       \
    template <class Plain, unsigned how = ADX_SWITCHES,                     \
              adx_if_plain<Plain> = 0>                                      \
    ADX_MEMBER name(Plain x)                                                \
    {                                                                       \
        *this = adx_convert<name, how>::widen(x);                           \
    }                                                                       \
    template <class Expr, unsigned how = ADX_SWITCHES,                      \
              adx_if_narrower<name, Expr> = 0>                              \
    ADX_MEMBER name(const Expr &e)                                          \
    {                                                                       \
        *this = adx_convert<name, how>::widen(e);                           \
    }                                                                       \
    ADX_CASTS(name)

#endif // __cplusplus

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

/* === core/operations ========================================================
 * One row per elementary operation. Values, partials, forward mode, the codes
 * of the trace, the text for generated C, the reference (`make docs`) and
 * tests/core/operations.c are made from the rows; none of them names an
 * operation itself. To add an operation, add a row here and a front in
 * number/fronts.
 *
 *   needs   core/config core/types
 *   offers  ADX_JOIN ADX_K ADX_HAS_LGAMMA_R adx_digamma adx_polygamma
 *           adx_beta_density ADX_HELPERS ADX_COST_SHORT ADX_COST_CALL
 *           ADX_COST_LONG ADX_COST ADX_MAY_CALL ADX_LINEAR ADX_COMMUTES
 *           ADX_IDENTITY ADX_WHOLE_X ADX_WHOLE_Y ADX_ADDS ADX_TIMES ADX_SCALES
 *           ADX_ATTRIBUTES ADX_IS_ONE adx_f_* adx_fx_* adx_fy_* adx_fz_*
 * ========================================================================== */

/* --- the C library at ad_real -----------------------------------------------
 * In the rows, adm_sin is <math.h>'s sin for double and sinf for float.     */

#define ADX_OF_double(name) name
#define ADX_OF_float(name)  name##f
#define ADX_JOIN_(a, b)     a##b
#define ADX_JOIN(a, b)      ADX_JOIN_(a, b)
#define ADX_K(constant)     ((ad_real)constant)

#define ADX_LIBM1(ROW)                                                      \
    ROW(fabs) ROW(floor) ROW(ceil) ROW(trunc) ROW(round) ROW(rint)          \
    ROW(nearbyint) ROW(sqrt) ROW(cbrt) ROW(exp) ROW(exp2) ROW(expm1)        \
    ROW(log) ROW(log2) ROW(log10) ROW(log1p) ROW(sin) ROW(cos) ROW(tan)     \
    ROW(asin) ROW(acos) ROW(atan) ROW(sinh) ROW(cosh) ROW(tanh) ROW(asinh)  \
    ROW(acosh) ROW(atanh) ROW(erf) ROW(erfc) ROW(tgamma)

#define ADX_LIBM2(ROW)                                                      \
    ROW(fmin) ROW(fmax) ROW(fdim) ROW(fmod) ROW(remainder) ROW(copysign)    \
    ROW(hypot) ROW(pow) ROW(atan2)

#define ADX_DEFINE(name)                                                    \
    ADX_INLINE ad_real adm_##name(ad_real x)                                \
        { return ADX_JOIN(ADX_OF_, ADREV_REAL)(name)(x); }
ADX_LIBM1(ADX_DEFINE)
#undef ADX_DEFINE

#define ADX_DEFINE(name)                                                    \
    ADX_INLINE ad_real adm_##name(ad_real x, ad_real y)                     \
        { return ADX_JOIN(ADX_OF_, ADREV_REAL)(name)(x, y); }
ADX_LIBM2(ADX_DEFINE)
#undef ADX_DEFINE

ADX_INLINE ad_real adm_fma(ad_real x, ad_real y, ad_real z)
{
    return ADX_JOIN(ADX_OF_, ADREV_REAL)(fma)(x, y, z);
}

ADX_INLINE ad_real adm_ldexp(ad_real x, int k)
{
    return ADX_JOIN(ADX_OF_, ADREV_REAL)(ldexp)(x, k);
}

// lgamma also sets signgam, which all threads share: a race, although nothing
// here reads it. lgamma_r does not, but <math.h> hides it from strict C11.
#if !defined ADREV_NO_THREADS && defined __ELF__                            \
    && (defined __linux__ || defined __FreeBSD__ || defined __NetBSD__      \
        || defined __OpenBSD__)
#define ADX_HAS_LGAMMA_R 1
#else
#define ADX_HAS_LGAMMA_R 0
#endif

#if ADX_HAS_LGAMMA_R
ADX_EXTERN double adx_lgamma_double(double x, int *sign) __asm__("lgamma_r");
ADX_EXTERN float adx_lgamma_float(float x, int *sign) __asm__("lgammaf_r");

ADX_INLINE ad_real adm_lgamma(ad_real x)
{
    int sign = 0;
    return ADX_JOIN(adx_lgamma_, ADREV_REAL)(x, &sign);
}
#else
ADX_INLINE ad_real adm_lgamma(ad_real x)
{
    return ADX_JOIN(ADX_OF_, ADREV_REAL)(lgamma)(x);
}
#endif

// In core/special: these are too long to inline, or not in <math.h>. The orders
// k and n are whole.
ADX_API ad_real adx_digamma(ad_real x);
ADX_API ad_real adx_polygamma(ad_real k, ad_real x);
ADX_API ad_real adx_log_add_exp(ad_real x, ad_real y);
ADX_API ad_real adx_share_of_exp(ad_real x, ad_real y);
ADX_API ad_real adx_jn(ad_real n, ad_real x);
ADX_API ad_real adx_yn(ad_real n, ad_real x);

// In core/incomplete: gamma_p and gamma_q of shape x at y; the derivatives of
// whole order x with respect to the shape y, at z, of P and of its density.
ADX_API ad_real adx_gamma_p(ad_real x, ad_real y);
ADX_API ad_real adx_gamma_q(ad_real x, ad_real y);
ADX_API ad_real adx_shape_slope(ad_real x, ad_real y, ad_real z);
ADX_API ad_real adx_shape_density(ad_real x, ad_real y, ad_real z);

// In core/beta: beta_p and beta_q of shapes x and y at z; derivatives
// of whole order j in x and k in y, at z, of the first and of its density.
ADX_API ad_real adx_beta_p(ad_real x, ad_real y, ad_real z);
ADX_API ad_real adx_beta_q(ad_real x, ad_real y, ad_real z);
ADX_API ad_real adx_beta_slope(int j, int k, ad_real x, ad_real y, ad_real z);
ADX_API ad_real adx_beta_density(int j, int k, ad_real x, ad_real y, ad_real z);

/* --- values and partials that need more than one expression -----------------
 * Each row makes a function adx_name, and its text for generated C. A ROW has a
 * name, parameters and a body. A PARTIAL is a function that partials call, so
 * in recorded functions it is an operation, too: it has a name, the number n of
 * its arguments x, y, z, attributes, its own partials, which may also use its
 * value v, and a body. An argument may matter although its partial is 0: then
 * it is a function of the others, and stands for the value of the operation
 * whose partial this is.
 *
 * share        how much of the larger of x and y is x: 1 or 0, and a half at a
 *              tie. If one of them is NaN, fmax and fmin return the other, and
 *              all of it is the other's
 * ldexp        exponents beyond 9999 or -9999 do no more than these
 * cosine       x/r for the length r; 0 at the origin, which is the subgradient
 *              of least norm
 * sound        1 where v has all its digits: not 0, subnormal, infinite or NaN
 * magnify      a power of 2: the length of x and y times it is sound
 * hypot_dx     x/r for r = hypot(x, y), even where r is not sound
 * over_square  x/(x*x + y*y) without the squares: they overflow at 1e155
 * over_square_dx  (y*y - x*x)/(x*x + y*y)^2; where x is close to y, the
 *              difference of the squares would cancel
 * asin_dx      1/sqrt(1 - x*x), and atanh_dx 1/(1 - x*x): near 1 the square
 *              would cancel
 * atan_dx      1/(1 + x*x); for large x the square would overflow
 * tanh_dx      1 - tanh(x)^2: the square is exact enough while it is below 1/4.
 *              Beyond that, 4t/(1 + t)^2 with t = exp(-2|x|) cancels nothing,
 *              while 1 - v*v has relative error 1e-8 at 10 and is 0 at 20
 * expm1_dx     exp(x) from v = expm1(x); where v + 1 cancels, from x
 * sigmoid      exp(-|x|) never overflows, and x <= 0 loses nothing
 * sigmoid_dx   v(1 - v) with t = exp(-|x|): 1 - v cancels for large x
 * softplus     log(1 + exp(x)) without overflow
 * gauss        exp(-x*x) to 2 ulp. exp would magnify the rounding error of x*x
 *              (27 ulp at x = 5); fma gives this error exactly, and the result
 *              is corrected by it
 * pow          x^y. Where a compiler sees an exponent 2 or -1, or a base 2, it
 *              takes a product, a quotient or exp2: here all of them are
 * pow_root     the root of |v| for v = x^y, which may be sound where v is not
 * pow_dx       y x^(y-1): from v = x^y where that is sound, else from its root,
 *              in the order in which nothing overflows before the result does
 * pow_dy       x^y log x; its limit 0 where x^y is 0
 * pow_dxx      y (y-1) x^(y-2), unless y - 2 is rounded: in x^(y-2) that error
 *              is up to 700 times as large, and the root has none
 * pow_dxy      x^(y-1) (1 + y log x), from the root for the same reason
 * weight       exp(x - most): where both are the same infinity, 1
 * exp10        10^x. clang turns pow(10, x) into exp10, which is not in
 *              <math.h>, and which need not give the same bits: the base is
 *              written so that it does not see it
 * frac         x without its whole part, as modf has it: with the sign of x,
 *              and 0 if x is infinite
 * exp_share    how much of exp(x) + exp(y) is exp(x)
 * gamma_da     derivative of order x, with respect to its shape y, of the
 *              incomplete gamma function P, at z
 * gamma_dx     the same of its density. y - 1 - z would be NaN at 0
 * beta_da      derivatives of the incomplete beta function with respect to its
 *              shapes a and b, up to the second, and of its density `dx` and
 *              the density's slope `dxx`: third derivatives with respect to
 *              shapes, and those of them with respect to z, are NaN
 * beta_end     the slope of the density at z = 0 and 1, where it is a limit
 * absorb       a product of the chain rule: a zero absorbs any other factor  */

#define ADX_HELPERS(ROW, PARTIAL)                                           \
    PARTIAL( share, 2, ADX_COST_SHORT,                                      \
        0, 0, 0,                                                            \
        return x > y ? 1 : x < y ? 0                                        \
             : x == y ? 1 / (ad_real)2 : y != y ? 1 : 0; )                  \
    ROW( sign, (ad_real x),                                                 \
        return x > 0 ? 1 : x < 0 ? -1 : x; )                                \
    ROW( absorb, (ad_real f, ad_real d),                                    \
        return f == 0 || d == 0 ? 0 : f * d; )                              \
    ROW( ldexp, (ad_real x, ad_real y),                                     \
        return y != y ? y                                                   \
             : adm_ldexp(x, y > 9999 ? 9999 : y < -9999 ? -9999 : (int)y); )\
    PARTIAL( cosine, 2, ADX_COST_SHORT,                                     \
        y == 0 ? 0 : 1 / y, y == 0 ? 0 : -v / y, 0,                         \
        return x == 0 ? 0 : x / y; )                                        \
    ROW( sound, (ad_real v),                                                \
        ad_real least = sizeof(ad_real) == 4 ? ADX_K(1e-37)                 \
                                             : ADX_K(1e-307);               \
        return adm_fabs(v) > least && v - v == 0; )                         \
    ROW( magnify, (ad_real x, ad_real y),                                   \
        ad_real s = adm_fabs(x) + adm_fabs(y);                              \
        return s > 1 ? 1 / (ad_real)4                                       \
             : adx_sound(s) != 0 ? 1 : ADX_K(9.007199254740992e15); )       \
    PARTIAL( hypot_dx, 3, ADX_COST_SHORT | ADX_MAY_CALL,                    \
        z == 0 ? 0 : adx_hypot_dx(y, x, z) / adm_sqrt(z) *                  \
            (adx_hypot_dx(y, x, z) / adm_sqrt(z)),                          \
        z == 0 ? 0 : -v * adx_hypot_dx(y, x, z) / z,                        \
        0,                                                                  \
        ad_real h = 0;                                                      \
        if (x == 0 || adx_sound(z) != 0)                                    \
            return adx_cosine(x, z);                                        \
        h = adx_magnify(x, y);                                              \
        if (x - x == 0)                                                     \
            return h * x / adm_hypot(h * x, h * y);                         \
        return y - y == 0 ? adx_sign(x) : y - y; )                          \
    PARTIAL( over_square, 2, ADX_COST_CALL,                                 \
        adx_over_square_dx(x, y),                                           \
        -2 * adx_absorb(v, adx_over_square(y, x)),                          \
        0,                                                                  \
        ad_real h = adx_magnify(x, y);                                      \
        ad_real r = adm_hypot(h * x, h * y);                                \
        return r - r == 0 ? h * x / r / r * h : 0 / r; )                    \
    PARTIAL( over_square_dx, 2, ADX_COST_CALL,                              \
        -2 * adx_absorb(adx_over_square(x, y), v + 2 * adx_over_square(y,   \
            x) * adx_over_square(y, x)),                                    \
        -2 * adx_absorb(adx_over_square(y, x), v - 2 * adx_over_square(x,   \
            y) * adx_over_square(x, y)),                                    \
        0,                                                                  \
        ad_real h = adx_magnify(x, y);                                      \
        ad_real r = adm_hypot(h * x, h * y);                                \
        ad_real less = (h * y - h * x) / r / r;                             \
        ad_real more = (h * y + h * x) / r / r;                             \
        return r - r == 0 ? adx_absorb(less, more) * h * h : 0 / r; )       \
    PARTIAL( asin_dx, 1, ADX_COST_SHORT | ADX_MAY_CALL,                     \
        x * v * v * v, 0, 0,                                                \
        return 1 / adm_sqrt((1 - x) * (1 + x)); )                           \
    PARTIAL( atanh_dx, 1, ADX_COST_SHORT,                                   \
        2 * x * v * v, 0, 0,                                                \
        return 1 / ((1 - x) * (1 + x)); )                                   \
    PARTIAL( atan_dx, 1, ADX_COST_SHORT,                                    \
        -2 * adx_absorb(x, v) * v, 0, 0,                                    \
        return adm_fabs(x) < ADX_K(1e8) ? 1 / (1 + x * x) : 1 / x / x; )    \
    PARTIAL( tanh_dx, 2, ADX_COST_CALL,                                     \
        -2 * y * v, 0, 0,                                                   \
        ad_real t = 0;                                                      \
        if (y * y < 1 / (ad_real)4)                                         \
            return 1 - y * y;                                               \
        t = adm_exp(-2 * adm_fabs(x));                                      \
        return 4 * t / ((1 + t) * (1 + t)); )                               \
    PARTIAL( expm1_dx, 2, ADX_COST_CALL,                                    \
        v, 0, 0,                                                            \
        return y > -1 / (ad_real)2 ? y + 1 : adm_exp(x); )                  \
    ROW( sigmoid, (ad_real x),                                              \
        ad_real t = adm_exp(-adm_fabs(x));                                  \
        return x >= 0 ? 1 / (1 + t) : t / (1 + t); )                        \
    PARTIAL( sigmoid_dx, 1, ADX_COST_CALL,                                  \
        -v * adm_tanh(x / 2), 0, 0,                                         \
        ad_real t = adm_exp(-adm_fabs(x));                                  \
        return t / ((1 + t) * (1 + t)); )                                   \
    ROW( softplus, (ad_real x),                                             \
        return (x > 0 ? x : 0) + adm_log1p(adm_exp(-adm_fabs(x))); )        \
    PARTIAL( gauss, 1, ADX_COST_CALL,                                       \
        -2 * adx_absorb(x, v), 0, 0,                                        \
        ad_real h = x * x;                                                  \
        ad_real low = adm_fma(x, x, -h);                                    \
        ad_real v = adm_exp(-h);                                            \
        return v == 0 ? v : v - v * low; )                                  \
    ROW( pow, (ad_real x, ad_real y),                                       \
        return y == 2 ? x * x : y == -1 ? 1 / x : x == 2 ? adm_exp2(y)      \
             : adm_pow(x, y); )                                             \
    ROW( pow_root, (ad_real x, ad_real y, ad_real v),                       \
        return v != v ? v : adx_pow(adm_fabs(x), y / 2); )                  \
    PARTIAL( pow_dx, 3, ADX_COST_CALL,                                      \
        adx_pow_dxx(x, y, z), adx_pow_dxy(x, y, z), 0,                      \
        ad_real h = 0;                                                      \
        if (y == 0)                                                         \
            return 0;                                                       \
        if (adx_sound(z) != 0)                                              \
            return adm_fabs(z) > 1 && adm_fabs(x) > 1 ? y * (z / x)         \
                                                      : y * z / x;          \
        h = adx_pow_root(x, y, z);                                          \
        return adx_sound(h) != 0 ? adm_copysign(h, z) / x * y * h           \
                                 : adx_absorb(y, adx_pow(x, y - 1)); )      \
    PARTIAL( pow_dy, 3, ADX_COST_CALL,                                      \
        adx_pow_dxy(x, y, z), adx_absorb(v, adm_log(x)), 0,                 \
        ad_real h = 0;                                                      \
        if (adx_sound(z) != 0)                                              \
            return z * adm_log(x);                                          \
        h = adx_pow_root(x, y, z);                                          \
        return adx_sound(h) != 0 ? h * adm_log(x) * h                       \
             : z == 0 && x >= 0 ? 0 : z * adm_log(x); )                     \
    PARTIAL( pow_dxx, 3, ADX_COST_LONG,                                     \
        adx_absorb(y, adx_pow_dxx(x, y - 1, adx_pow(x, y - 1))),            \
        adx_pow_dx(x, y - 1, adx_pow(x, y - 1)) + adx_absorb(y,             \
            adx_pow_dxy(x, y - 1, adx_pow(x, y - 1))),                      \
        0,                                                                  \
        ad_real less = y - 2;                                               \
        ad_real w = adx_pow(x, less);                                       \
        ad_real h = 0;                                                      \
        if (y == 0 || y == 1)                                               \
            return 0;                                                       \
        if (less + 2 == y && adx_sound(w) != 0)                             \
            return y * (y - 1) * w;                                         \
        h = adx_pow_root(x, y, z);                                          \
        return adx_sound(h) != 0                                            \
             ? adm_copysign(h, z) / x * y * (h / x * (y - 1))               \
             : adx_absorb(y * (y - 1), w); )                                \
    PARTIAL( pow_dxy, 3, ADX_COST_LONG,                                     \
        adx_pow_dx(x, y - 1, adx_pow(x, y - 1)) + adx_absorb(y,             \
            adx_pow_dxy(x, y - 1, adx_pow(x, y - 1))),                      \
        adx_absorb(adx_pow_dy(x, y - 1, adx_pow(x, y - 1)), 2 +             \
            adx_absorb(y, adm_log(x))),                                     \
        0,                                                                  \
        ad_real h = adx_pow_root(x, y, z);                                  \
        ad_real d = 1 + adx_absorb(y, adm_log(x));                          \
        if (adx_sound(h) == 0)                                              \
            return adx_absorb(adx_pow(x, y - 1), d);                        \
        return x < 1 && y < 1 ? h / x * h * d : h / x * d * h; )            \
    PARTIAL( weight, 2, ADX_COST_CALL,                                      \
        v, -v, 0,                                                           \
        return x == y ? 1 : adm_exp(x - y); )                               \
    ROW( exp10, (ad_real x),                                                \
        return adm_pow(x != x ? x : 10, x); )                               \
    ROW( frac, (ad_real x),                                                 \
        return x - x == 0 ? adm_copysign(x - adm_trunc(x), x)               \
             : x != x ? x : adm_copysign(0, x); )                           \
    PARTIAL( exp_share, 2, ADX_COST_CALL,                                   \
        v * adx_exp_share(y, x), -v * adx_exp_share(y, x), 0,               \
        return adx_share_of_exp(x, y); )                                    \
    PARTIAL( gamma_da, 3, ADX_COST_LONG,                                    \
        0, adx_gamma_da(x + 1, y, z), adx_gamma_dx(x, y, z),                \
        return adx_shape_slope(x, y, z); )                                  \
    PARTIAL( gamma_dx, 3, ADX_COST_LONG,                                    \
        0, adx_gamma_dx(x + 1, y, z),                                       \
        z == 0 ? (y == 1 ? 0 : adx_gamma_dx(x, y - 1, z)) - v               \
            : adx_absorb(v, (y - 1 - z) / z)                                \
            + adx_absorb(x / z, adx_gamma_dx(x - 1, y, z)),                 \
        return adx_shape_density(x, y, z); )                                \
    ROW( beta_end, (ad_real x, ad_real y, ad_real z),                       \
        const ad_real far = (ad_real)HUGE_VAL;                              \
        if (z == 1)                                                         \
            return -adx_beta_end(y, x, 0);                                  \
        if (z != 0 || !(x > 0 && y >= 0 && x + y - (x + y) == 0))           \
            return (ad_real)NAN;                                            \
        return x > 2 || y == 0 ? 0 : x == 2 ? y * (y + 1)                   \
             : x == 1 ? y * (1 - y) : x < 1 ? -far : far; )                 \
    PARTIAL( beta_dx, 3, ADX_COST_LONG,                                     \
        adx_beta_dax(x, y, z), adx_beta_dbx(x, y, z), adx_beta_dxx(x, y, z),\
        return adx_beta_density(0, 0, x, y, z); )                           \
    PARTIAL( beta_dxx, 3, ADX_COST_LONG,                                    \
        adx_beta_dax(x, y, z) * ((x - 1) / z - (y - 1) / (1 - z))           \
            + adx_beta_dx(x, y, z) / z,                                     \
        adx_beta_dbx(x, y, z) * ((x - 1) / z - (y - 1) / (1 - z))           \
            - adx_beta_dx(x, y, z) / (1 - z),                               \
        v * ((x - 1) / z - (y - 1) / (1 - z)) - adx_beta_dx(x, y, z)        \
            * ((x - 1) / z / z + (y - 1) / (1 - z) / (1 - z)),              \
        return !(z > 0 && z < 1) ? adx_beta_end(x, y, z)                    \
             : adx_absorb(adx_beta_density(0, 0, x, y, z),                  \
                          (x - 1) / z - (y - 1) / (1 - z)); )               \
    PARTIAL( beta_dax, 3, ADX_COST_LONG,                                    \
        0 / (z - z), 0 / (z - z),                                           \
        v * ((x - 1) / z - (y - 1) / (1 - z))                               \
            + adx_beta_dx(x, y, z) / z,                                     \
        return adx_beta_density(1, 0, x, y, z); )                           \
    PARTIAL( beta_dbx, 3, ADX_COST_LONG,                                    \
        0 / (z - z), 0 / (z - z),                                           \
        v * ((x - 1) / z - (y - 1) / (1 - z))                               \
            - adx_beta_dx(x, y, z) / (1 - z),                               \
        return adx_beta_density(0, 1, x, y, z); )                           \
    PARTIAL( beta_da, 3, ADX_COST_LONG,                                     \
        adx_beta_daa(x, y, z), adx_beta_dab(x, y, z), adx_beta_dax(x, y, z),\
        return adx_beta_slope(1, 0, x, y, z); )                             \
    PARTIAL( beta_db, 3, ADX_COST_LONG,                                     \
        adx_beta_dab(x, y, z), adx_beta_dbb(x, y, z), adx_beta_dbx(x, y, z),\
        return adx_beta_slope(0, 1, x, y, z); )                             \
    PARTIAL( beta_daa, 3, ADX_COST_LONG,                                    \
        0 / (z - z), 0 / (z - z), 0 / (z - z),                              \
        return adx_beta_slope(2, 0, x, y, z); )                             \
    PARTIAL( beta_dab, 3, ADX_COST_LONG,                                    \
        0 / (z - z), 0 / (z - z), 0 / (z - z),                              \
        return adx_beta_slope(1, 1, x, y, z); )                             \
    PARTIAL( beta_dbb, 3, ADX_COST_LONG,                                    \
        0 / (z - z), 0 / (z - z), 0 / (z - z),                              \
        return adx_beta_slope(0, 2, x, y, z); )

#define ADX_DEFINE(name, parameters, ...)                                   \
    ADX_INLINE ad_real adx_##name parameters { __VA_ARGS__ }
#define ADX_PARAMETERS_1 (ad_real x)
#define ADX_PARAMETERS_2 (ad_real x, ad_real y)
#define ADX_PARAMETERS_3 (ad_real x, ad_real y, ad_real z)
#define ADX_DEFINE_PARTIAL(name, n, how, fx, fy, fz, ...)                   \
    ADX_DEFINE(name, ADX_PARAMETERS_##n, __VA_ARGS__)
ADX_HELPERS(ADX_DEFINE, ADX_DEFINE_PARTIAL)
#undef ADX_DEFINE
#undef ADX_DEFINE_PARTIAL

/* --- legend -----------------------------------------------------------------
 * name    ad_name, ADREV_OP_name; as in <math.h> where it is there
 * n       number of arguments x, y, z
 * value   C expression in x, y, z
 * d/dx    partial, C expression in x, y, z and v (the value just computed);
 * d/dy    0 where the argument does not exist, or is an integer parameter
 * d/dz
 * box     where tests/core/operations.c samples: from, to for each argument.
 *         Value and partials are smooth inside; edges are in ADREV_EDGES.
 * attributes   what it costs, and what else is true of it
 * Constants are integers or ADX_K(17 digits): the text is emitted verbatim. */

enum {
    ADX_COST_SHORT,             // a few instructions
    ADX_COST_CALL,              // a call of the math library
    ADX_COST_LONG,              // as much as two such calls, or more
    ADX_COST = 3,               // the bits of these
    ADX_MAY_CALL = 4,           // short, but compilers may call a function:
                                // sqrt sets errno for negative numbers
    ADX_LINEAR = 8,             // its partials are constants
    ADX_COMMUTES = 16,          // x and y may change places, to the last bit
    ADX_IDENTITY = 32,          // an identity may give the result although no
                                // argument is constant: -(-x) is x
    ADX_WHOLE_X = 64,           // this argument is a constant, and whole: an
    ADX_WHOLE_Y = 128,          // order, or an exponent
    ADX_ADDS = 256,             // ADREV_COUNT: it counts as an addition;
    ADX_TIMES = 512,            // as a multiplication; with neither, as fn
    ADX_SCALES = 1024           // and its partials take a multiplication each
};

// clang-format off
#define ADREV_OPS(ROW)                                                                                                   \
    /*   name      n  value                     d/dx                      d/dy                  d/dz     box: x, y, z          attributes */ \
    ROW( add,      2, x + y,                    1,                        1,                    0,       -3,3, -3,3, 0,0,      ADX_ADDS | ADX_LINEAR | ADX_COMMUTES ) \
    ROW( sub,      2, x - y,                    1,                        -1,                   0,       -3,3, -3,3, 0,0,      ADX_ADDS | ADX_LINEAR ) \
    ROW( mul,      2, x * y,                    y,                        x,                    0,       -3,3, -3,3, 0,0,      ADX_TIMES | ADX_COMMUTES ) \
    ROW( div,      2, x / y,                    1 / y,                    -(v / y),             0,       -3,3, .5,3, 0,0,      ADX_TIMES | ADX_SCALES ) \
    ROW( fma,      3, adm_fma(x, y, z),         y,                        x,                    1,       -3,3, -3,3, -3,3,     ADX_ADDS | ADX_TIMES ) \
    ROW( neg,      1, -x,                       -1,                       0,                    0,       -3,3, 0,0, 0,0,       ADX_TIMES | ADX_LINEAR | ADX_IDENTITY ) \
    ROW( sqr,      1, x * x,                    2 * x,                    0,                    0,       -3,3, 0,0, 0,0,       ADX_TIMES | ADX_SCALES ) \
    ROW( abs,      1, adm_fabs(x),              adx_sign(x),              0,                    0,       .1,3, 0,0, 0,0,       ADX_COST_SHORT ) \
    ROW( min,      2, x <= y || y != y ? x : y, adx_share(-x, -y),        adx_share(-y, -x),    0,       -3,0, .1,3, 0,0,      ADX_COST_SHORT ) \
    ROW( max,      2, x >= y || y != y ? x : y, adx_share(x, y),          adx_share(y, x),      0,       -3,0, .1,3, 0,0,      ADX_COST_SHORT ) \
    ROW( clamp,    3, x < y ? y : x > z ? z : x, x < y || x > z ? 0 : 1,  x < y ? 1 : 0,        x < y ? 0 : x > z ? 1 : 0, -1,1, -3,-2, 2,3, ADX_COST_SHORT ) \
    ROW( select,   3, x != 0 ? y : z,           0,                        x != 0 ? 1 : 0,       x != 0 ? 0 : 1, 1,2, -3,3, -3,3, ADX_COST_SHORT | ADX_IDENTITY ) \
    ROW( fdim,     2, adm_fdim(x, y),           x > y ? 1 : 0,            x > y ? -1 : 0,       0,       1,3, -3,0, 0,0,       ADX_COST_SHORT | ADX_MAY_CALL ) \
    ROW( fmod,     2, adm_fmod(x, y),           1,                        adm_rint(v / y - x / y), 0,      4.2,5.5, 1.9,2, 0,0, ADX_COST_CALL ) \
    ROW( remainder, 2, adm_remainder(x, y),     1,                        adm_rint(v / y - x / y), 0,      5.1,5.6, 1.9,2, 0,0, ADX_COST_LONG ) \
    ROW( frac,     1, adx_frac(x),              1,                        0,                    0,       .1,.9, 0,0, 0,0,      ADX_COST_CALL ) \
    ROW( copysign, 2, adm_copysign(x, y),       adx_sign(x) * adm_copysign(1, y), 0,            0,       .1,3, -3,-1, 0,0,     ADX_COST_SHORT ) \
    ROW( ldexp,    2, adx_ldexp(x, y),          adx_ldexp(1, y),          0,                    0,       -3,3, -2,5, 0,0,      ADX_COST_CALL | ADX_WHOLE_Y ) \
    ROW( sqrt,     1, adm_sqrt(x),              1 / (2 * v),              0,                    0,       .1,9, 0,0, 0,0,       ADX_COST_SHORT | ADX_MAY_CALL ) \
    ROW( cbrt,     1, adm_cbrt(x),              1 / (3 * v * v),          0,                    0,       .1,9, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( hypot,    2, adm_hypot(x, y),          adx_hypot_dx(x, y, v),    adx_hypot_dx(y, x, v), 0,      -3,3, .1,3, 0,0,      ADX_COST_CALL ) \
    ROW( pow,      2, adx_pow(x, y),            adx_pow_dx(x, y, v),      adx_pow_dy(x, y, v),  0,       .1,3, -3,3, 0,0,      ADX_COST_LONG ) \
    ROW( powi,     2, adx_pow(x, y),            adx_pow_dx(x, y, v),      0,                    0,       -3,-1, -4,5, 0,0,     ADX_COST_LONG | ADX_WHOLE_Y ) \
    ROW( exp,      1, adm_exp(x),               v,                        0,                    0,       -5,5, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( exp2,     1, adm_exp2(x),              v * ADX_K(0.69314718055994530942), 0,           0,       -5,5, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( exp10,    1, adx_exp10(x),             v * ADX_K(2.3025850929940456840), 0,            0,       -5,5, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( expm1,    1, adm_expm1(x),             adx_expm1_dx(x, v),       0,                    0,       -5,5, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( log,      1, adm_log(x),               1 / x,                    0,                    0,       .1,9, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( log2,     1, adm_log2(x),              ADX_K(1.4426950408889634074) / x, 0,            0,       .1,9, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( log10,    1, adm_log10(x),             ADX_K(0.43429448190325182765) / x, 0,           0,       .1,9, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( log1p,    1, adm_log1p(x),             1 / (1 + x),              0,                    0,       -.9,9, 0,0, 0,0,      ADX_COST_CALL ) \
    ROW( sin,      1, adm_sin(x),               adm_cos(x),               0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( cos,      1, adm_cos(x),               -adm_sin(x),              0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( tan,      1, adm_tan(x),               1 + v * v,                0,                    0,       -1.4,1.4, 0,0, 0,0,   ADX_COST_CALL ) \
    ROW( asin,     1, adm_asin(x),              adx_asin_dx(x),           0,                    0,       -.9,.9, 0,0, 0,0,     ADX_COST_LONG ) \
    ROW( acos,     1, adm_acos(x),              -adx_asin_dx(x),          0,                    0,       -.9,.9, 0,0, 0,0,     ADX_COST_CALL ) \
    ROW( atan,     1, adm_atan(x),              adx_atan_dx(x),           0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( atan2,    2, adm_atan2(x, y),          adx_over_square(y, x),    -adx_over_square(x, y), 0,     -3,3, .5,3, 0,0,      ADX_COST_LONG ) \
    ROW( sinh,     1, adm_sinh(x),              adm_cosh(x),              0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( cosh,     1, adm_cosh(x),              adm_sinh(x),              0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( tanh,     1, adm_tanh(x),              adx_tanh_dx(x, v),        0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( asinh,    1, adm_asinh(x),             1 / adm_hypot(1, x),      0,                    0,       -4,4, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( acosh,    1, adm_acosh(x),             1 / (adm_sqrt(x - 1) * adm_sqrt(x + 1)), 0,     0,       1.1,9, 0,0, 0,0,      ADX_COST_LONG ) \
    ROW( atanh,    1, adm_atanh(x),             adx_atanh_dx(x),          0,                    0,       -.9,.9, 0,0, 0,0,     ADX_COST_LONG ) \
    ROW( relu,     1, x <= 0 ? 0 : x,           x <= 0 ? 0 : 1,           0,                    0,       .1,3, 0,0, 0,0,       ADX_COST_SHORT ) \
    ROW( sigmoid,  1, adx_sigmoid(x),           adx_sigmoid_dx(x),        0,                    0,       -6,6, 0,0, 0,0,       ADX_COST_CALL ) \
    ROW( softplus, 1, adx_softplus(x),          adx_sigmoid(x),           0,                    0,       -6,6, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( log_add_exp, 2, adx_log_add_exp(x, y), adx_exp_share(x, y),      adx_exp_share(y, x),  0,       0,3, 0,3, 0,0,        ADX_COST_LONG ) \
    ROW( erf,      1, adm_erf(x),               ADX_K(1.1283791670955125739) * adx_gauss(x),  0, 0,      -3,3, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( erfc,     1, adm_erfc(x),              ADX_K(-1.1283791670955125739) * adx_gauss(x), 0, 0,      -3,3, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( lgamma,   1, adm_lgamma(x),            adx_digamma(x),           0,                    0,       .2,9, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( tgamma,   1, adm_tgamma(x),            v * adx_digamma(x),       0,                    0,       .2,5, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( digamma,  1, adx_digamma(x),           adx_polygamma(1, x),      0,                    0,       .2,9, 0,0, 0,0,       ADX_COST_LONG ) \
    ROW( gamma_p,  2, adx_gamma_p(x, y),        adx_gamma_da(1, x, y),    adx_gamma_dx(0, x, y), 0,      .5,9, .5,9, 0,0,      ADX_COST_LONG ) \
    ROW( gamma_q,  2, adx_gamma_q(x, y),        -adx_gamma_da(1, x, y),   -adx_gamma_dx(0, x, y), 0,     .5,9, .5,9, 0,0,      ADX_COST_LONG ) \
    ROW( polygamma, 2, adx_polygamma(x, y),     0,                        adx_polygamma(x + 1, y), 0,    1,5, .2,9, 0,0,       ADX_COST_LONG | ADX_WHOLE_X ) \
    ROW( jn,       2, adx_jn(x, y),             0,                        adx_jn(x - 1, y) / 2 - adx_jn(x + 1, y) / 2, 0, -3,4, .5,1.7, 0,0, ADX_COST_LONG | ADX_WHOLE_X ) \
    ROW( yn,       2, adx_yn(x, y),             0,                        y == 0 ? -v : adx_yn(x - 1, y) / 2 - adx_yn(x + 1, y) / 2, 0, -3,4, 1.1,2, 0,0, ADX_COST_LONG | ADX_WHOLE_X ) \
    ROW( beta_p,   3, adx_beta_p(x, y, z),      adx_beta_da(x, y, z),     adx_beta_db(x, y, z), adx_beta_dx(x, y, z), .5,9, .5,9, .1,.9, ADX_COST_LONG ) \
    ROW( beta_q,   3, adx_beta_q(x, y, z),      -adx_beta_da(x, y, z),    -adx_beta_db(x, y, z), -adx_beta_dx(x, y, z), .5,9, .5,9, .1,.9, ADX_COST_LONG )

/* Piecewise constant functions: derivative 0 everywhere, jumps included. Their
 * result is a constant of the recording. The box crosses several steps.      */

#define ADREV_STEPS(ROW)                                                                    \
    /*   name       value              box: x  attributes */                                \
    ROW( floor,     adm_floor(x),      -3,3,      ADX_COST_CALL )                           \
    ROW( ceil,      adm_ceil(x),       -3,3,      ADX_COST_CALL )                           \
    ROW( trunc,     adm_trunc(x),      -3,3,      ADX_COST_CALL )                           \
    ROW( round,     adm_round(x),      -3,3,      ADX_COST_CALL )                           \
    ROW( rint,      adm_rint(x),       -3,3,      ADX_COST_CALL )                           \
    ROW( nearbyint, adm_nearbyint(x),  -3,3,      ADX_COST_CALL )                           \
    ROW( sign,      adx_sign(x),       -3,3,      ADX_COST_SHORT )

/* Comparisons look at values only. While a hook watches, it is told of them. */

#define ADREV_COMPARISONS(ROW)                                                              \
    ROW( lt, < )  ROW( le, <= )  ROW( gt, > )  ROW( ge, >= )  ROW( eq, == )  ROW( ne, != )

/* --- conventions at kinks, ties, limits and extreme arguments ---------------
 * Tested as they stand, in double precision: the first partials by
 * tests/core/edges.c, the second ones, which a recorded function has
 * (adrev_function.h), by tests/core/second_partials.c. Both try all magnitudes,
 * too.
 * ulps    largest error of a partial; 0: the very same bits, NaN for NaN     */

#define ADX_NAN ((double)NAN)
#define ADX_INF ((double)INFINITY)
#define ADREV_EDGES(ROW)                                                                                                                  \
    /*   op        x        y      z    want d/dx                d/dy                    d/dz ulps  because */                            \
    ROW( abs,      0,       0,     0,   0,                       0,                      0,   0, "kink: the middle of [-1, 1]" )          \
    ROW( min,      1,       1,     0,   0.5,                     0.5,                    0,   0, "tie: shared equally" )                  \
    ROW( max,      1,       1,     0,   0.5,                     0.5,                    0,   0, "tie: shared equally" )                  \
    ROW( max,      1,       ADX_NAN,   0,   1,                       0,                      0,   0, "as fmax: NaN counts as missing" )   \
    ROW( min,      ADX_NAN,     1,     0,   0,                       1,                      0,   0, "as fmin: NaN counts as missing" )   \
    ROW( clamp,    0,       0,     1,   1,                       0,                      0,   0, "on the bound: still inside" )           \
    ROW( clamp,    2,       0,     1,   0,                       0,                      1,   0, "above: follows the bound" )             \
    ROW( fdim,     1,       1,     0,   0,                       0,                      0,   0, "tie: as relu" )                         \
    ROW( relu,     0,       0,     0,   0,                       0,                      0,   0, "kink: sparse choice, as everywhere" )   \
    ROW( copysign, 0,       1,     0,   0,                       0,                      0,   0, "kink: as abs" )                         \
    ROW( sqrt,     0,       0,     0,   ADX_INF,                0,                      0,   0, "true limit, not NaN" )                   \
    ROW( cbrt,     0,       0,     0,   ADX_INF,                0,                      0,   0, "true limit, not NaN" )                   \
    ROW( cbrt,     1e-300,  0,     0,   3.3333333333333333e199,  0,                      0,   4, "v*v does not underflow" )               \
    ROW( hypot,    0,       0,     0,   0,                       0,                      0,   0, "subgradient of least norm" )            \
    ROW( hypot,    3e200,   4e200, 0,   0.6,                     0.8,                    0,   2, "no square overflows" )                  \
    ROW( hypot,    3e-200,  4e-200, 0,  0.6,                     0.8,                    0,   2, "no square underflows" )                 \
    ROW( hypot,    ADX_INF, 1,     0,   1,                       0,                      0,   0, "true limit" )                           \
    ROW( hypot,    1,       -ADX_INF, 0, 0,                      -1,                     0,   0, "true limit" )                           \
    ROW( hypot,    1.7e308, 1.7e308, 0, 0.70710678118654752,     0.70710678118654752,    0,   2, "where the value overflows" )            \
    ROW( atan2,    1e200,   1e200, 0,   5e-201,                  -5e-201,                0,   4, "no square overflows" )                  \
    ROW( atan2,    1,       ADX_INF, 0, 0,                       0,                      0,   0, "true limit" )                           \
    ROW( atan2,    ADX_INF, ADX_INF, 0, 0,                       0,                      0,   0, "true limit" )                           \
    ROW( atan2,    0,       0,     0,   ADX_NAN,                     ADX_NAN,                    0,   0, "no limit exists" )              \
    ROW( atan,     1e200,   0,     0,   0,                       0,                      0,   0, "1e-400 rounds to 0" )                   \
    ROW( atan,     1e150,   0,     0,   1e-300,                  0,                      0,   2, "x*x is near overflow" )                 \
    ROW( pow,      0,       1.5,   0,   0,                       0,                      0,   0, "limits: 1.5 sqrt(0), 0 log 0" )         \
    ROW( pow,      0,       1,     0,   1,                       0,                      0,   0, "x^1 has slope 1 at 0 too" )             \
    ROW( pow,      0,       2,     0,   0,                       0,                      0,   0, "x^2 at its minimum" )                   \
    ROW( pow,      0,       0.5,   0,   ADX_INF,                0,                      0,   0, "true limit, as sqrt" )                   \
    ROW( pow,      0,       0,     0,   0,                       -ADX_INF,              0,   0, "x^0 = 1; log 0" )                        \
    ROW( pow,      ADX_INF, -1,    0,   0,                       0,                      0,   0, "true limits" )                          \
    ROW( pow,      -2,      0,     0,   0,                       ADX_NAN,                    0,   0, "x^0 = 1; log of a negative number" )    \
    ROW( pow,      -2,      3,     0,   12,                      ADX_NAN,                    0,   0, "integer exponent: d/dx exists" )    \
    ROW( pow,      1e-200,  2,     0,   2e-200,                  0,                      0,   2, "value underflows, partial does not" )   \
    ROW( powi,     0,       1,     0,   1,                       0,                      0,   0, "x^1 has slope 1 at 0 too" )             \
    ROW( powi,     0,       0,     0,   0,                       0,                      0,   0, "constant 1" )                           \
    ROW( powi,     -2,      -1,    0,   -0.25,                   0,                      0,   2, "negative base and exponent" )           \
    ROW( exp,      -750,    0,     0,   0,                       0,                      0,   0, "underflows like the value" )            \
    ROW( expm1,    -40,     0,     0,   4.248354255291589e-18,   0,                      0,   2, "v + 1 would be 0" )                     \
    ROW( expm1,    1e-20,   0,     0,   1,                       0,                      0,   0, "no cancellation at 0" )                 \
    ROW( log,      0,       0,     0,   ADX_INF,                0,                      0,   0, "true limit" )                            \
    ROW( log1p,    -0.9999999999999999, 0, 0, 9007199254740992,  0,                      0,   0, "1 + x is exact near -1" )               \
    ROW( log1p,    -1,      0,     0,   ADX_INF,                0,                      0,   0, "true limit" )                            \
    ROW( asin,     1,       0,     0,   ADX_INF,                0,                      0,   0, "true limit" )                            \
    ROW( asin,     0.9999999999999999, 0, 0, 67108864,           0,                      0,   2, "1 - x*x would lose half the digits" )   \
    ROW( acosh,    1,       0,     0,   ADX_INF,                0,                      0,   0, "true limit" )                            \
    ROW( acosh,    1e200,   0,     0,   1e-200,                  0,                      0,   3, "x*x would overflow" )                   \
    ROW( asinh,    1e200,   0,     0,   1e-200,                  0,                      0,   3, "x*x would overflow" )                   \
    ROW( atanh,    1,       0,     0,   ADX_INF,                0,                      0,   0, "true limit" )                            \
    ROW( tanh,     15,      0,     0,   3.743049187535369e-13,   0,                      0,   4, "1 - v*v is off by 1.7e-4 here" )        \
    ROW( tanh,     20,      0,     0,   1.699341702116636e-17,   0,                      0,   4, "1 - v*v is 0 here" )                    \
    ROW( tanh,     -20,     0,     0,   1.699341702116636e-17,   0,                      0,   4, "even" )                                 \
    ROW( tanh,     400,     0,     0,   0,                       0,                      0,   0, "1e-347 rounds to 0" )                   \
    ROW( sigmoid,  40,      0,     0,   4.248354255291589e-18,   0,                      0,   3, "v (1 - v) would be 0" )                 \
    ROW( sigmoid,  -1000,   0,     0,   0,                       0,                      0,   0, "no overflow" )                          \
    ROW( softplus, 1000,    0,     0,   1,                       0,                      0,   0, "no overflow" )                          \
    ROW( erf,      5,       0,     0,   1.5670866531017336e-11,  0,                      0,   3, "exp(-x*x) with the error of x*x" )      \
    ROW( erfc,     20,      0,     0,   -2.1610374743867985e-174, 0,                     0,   3, "exp(-x*x) with the error of x*x" )      \
    ROW( erf,      1e200,   0,     0,   0,                       0,                      0,   0, "x*x overflows to the right limit" )     \
    ROW( lgamma,   -1,      0,     0,   ADX_NAN,                     0,                      0,   0, "pole: both signs occur" )           \
    ROW( lgamma,   1e300,   0,     0,   690.77552789821371,      0,                      0,   2, "log x" )                                \
    ROW( lgamma,   1,       0,     0,   -0.57721566490153286,    0,                      0,   4, "minus Euler's constant" )               \
    ROW( lgamma,   -0.5,    0,     0,   0.03648997397857652,     0,                      0, 200, "cancels: the absolute error is 1e-16" ) \
    ROW( lgamma,   0,       0,     0,   -ADX_INF,                0,                      0,   0, "true limit, on the side of this zero" ) \
    ROW( digamma,  0,       0,     0,   ADX_INF,                 0,                      0,   0, "true limit" )                           \
    ROW( digamma,  -1,      0,     0,   ADX_INF,                 0,                      0,   0, "pole: the same sign on both sides" )    \
    ROW( digamma,  ADX_INF, 0,     0,   0,                       0,                      0,   0, "true limit" )                           \
    ROW( digamma,  1e300,   0,     0,   1e-300,                  0,                      0,   2, "1/x" )                                  \
    ROW( polygamma, 1,      -1,    0,   0,                       ADX_NAN,                0,   0, "pole: both signs occur" )               \
    ROW( polygamma, 2,      0,     0,   0,                       ADX_INF,                0,   0, "true limit" )                           \
    ROW( polygamma, 0,      1,     0,   0,                       1.6449340668482264,     0,   4, "order 0 is digamma" )                   \
    ROW( polygamma, 1,      ADX_INF, 0, 0,                       0,                      0,   0, "true limit" )                           \
    ROW( gamma_p,  2,       0,     0,   0,                       0,                      0,   0, "true limits" )                          \
    ROW( gamma_p,  1,       0,     0,   0,                       1,                      0,   0, "exp(-x)" )                              \
    ROW( gamma_p,  0.5,     0,     0,   0,                       ADX_INF,                0,   0, "true limit" )                           \
    ROW( gamma_p,  0,       1,     0,   -0.21938393439552028,    0,                      0,   3, "minus E1(x)" )                          \
    ROW( gamma_q,  0,       1e-3,  0,   6.3315393641361493,      -0.0,                   0,   3, "E1(x)" )                                \
    ROW( gamma_p,  1e-300,  1,     0,   -0.21938393439552028,    3.6787944117144232e-301, 0,  3, "digamma(a) is -1e300" )                 \
    ROW( gamma_p,  0,       0,     0,   ADX_NAN,                 ADX_NAN,                0,   0, "no limit exists" )                      \
    ROW( gamma_p,  3,       ADX_INF, 0, 0,                       0,                      0,   0, "true limits" )                          \
    ROW( gamma_p,  ADX_INF, 3,     0,   0,                       0,                      0,   0, "true limits" )                          \
    ROW( gamma_p,  -1,      2,     0,   ADX_NAN,                 ADX_NAN,                0,   0, "no probability" )                       \
    ROW( gamma_p,  2,       1e-200, 0,  0,                       1e-200,                 0,   2, "D underflows, its density does not" )   \
    ROW( gamma_q,  1e6,     1e6,   0,   0.00039894231364662522,-0.00039894224715624403, 0,  4, "log(x/a) would cancel" )                  \
    ROW( beta_p,   2,       3,     0,   0,                       0,                      0,  0, "true limits" )                          \
    ROW( beta_p,   1,       2,     0,   0,                       0,                      2,  0, "2 - 2 x" )                              \
    ROW( beta_p,   0.5,     1,     0,   0,                       0,                      ADX_INF, 0, "true limit" )                      \
    ROW( beta_p,   2,       1,     1,   0,                       0,                      2,  0, "2 x" )                                  \
    ROW( beta_q,   1,       0.5,   1,   0,                       0,                      -ADX_INF, 0, "true limit" )                     \
    ROW( beta_p,   0,       1,     0.5, -0.69314718055994531,    0,                      0,  3, "log x" )                                \
    ROW( beta_q,   1,       0,     0.5, 0,                       -0.69314718055994531,   0,  3, "log(1 - x)" )                           \
    ROW( beta_p,   0,       0,     0.5, ADX_NAN,                 ADX_NAN,                ADX_NAN, 0, "no limit exists" )                 \
    ROW( beta_p,   0,       1,     0,   ADX_NAN,                 ADX_NAN,                ADX_NAN, 0, "no limit exists" )                 \
    ROW( beta_p,   ADX_INF, 2,     0.5, 0,                       0,                      0,  0, "true limits" )                          \
    ROW( beta_p,   2,       ADX_INF, 0.5, 0,                       0,                      0,  0, "true limits" )                        \
    ROW( beta_p,   -1,      2,     0.5, ADX_NAN,                 ADX_NAN,                ADX_NAN, 0, "no probability" )                  \
    ROW( beta_p,   2,       3,     2,   ADX_NAN,                 ADX_NAN,                ADX_NAN, 0, "no probability" )                  \
    ROW( beta_p,   1e-300,  1,     0.5, -0.69314718055994531,    1.0626935403832140e-300, 2e-300, 3, "digamma(a) is -1e300" )            \
    ROW( beta_p,   2,       1,     1e-200, 0,                       0,                      2e-200, 2, "x^2 underflows, its density does not" )\
    ROW( jn,       0,       0,     0,   0,                       0,                      0,   0, "even" )                                 \
    ROW( jn,       1,       0,     0,   0,                       0.5,                    0,   0, "straight at 0" )                        \
    ROW( jn,       -1,      0,     0,   0,                       -0.5,                   0,   0, "minus order 1" )                        \
    ROW( jn,       2,       ADX_INF, 0, 0,                       0,                      0,   0, "true limit" )                           \
    ROW( jn,       3,       1e-100, 0,  0,                       6.25e-202,              0,   2, "x^2/16" )                               \
    ROW( yn,       0,       0,     0,   0,                       ADX_INF,                0,   0, "true limit" )                           \
    ROW( yn,       1,       0,     0,   0,                       ADX_INF,                0,   0, "true limit" )                           \
    ROW( yn,       -1,      0,     0,   0,                       -ADX_INF,               0,   0, "true limit: minus order 1" )            \
    ROW( yn,       0,       1e-100, 0,  0,                       6.3661977236758134e99,  0,   2, "2/(pi x)" )                             \
    ROW( yn,       1,       ADX_INF, 0, 0,                       0,                      0,   0, "true limit" )                           \
    ROW( yn,       0,       -1,    0,   0,                       ADX_NAN,                0,   0, "no real value there" )                  \
    ROW( exp10,    -400,    0,     0,   0,                       0,                      0,   0, "underflows like the value" )            \
    ROW( exp10,    2,       0,     0,   230.25850929940457,      0,                      0,   2, "the value is 100" )                     \
    ROW( frac,     ADX_INF, 0,     0,   1,                       0,                      0,   0, "of an infinity 0 is left" )             \
    ROW( frac,     -2,      0,     0,   1,                       0,                      0,   0, "a jump: as beside it" )                 \
    ROW( log_add_exp, 0,    0,     0,   0.5,                     0.5,                    0,   0, "tie" )                                  \
    ROW( log_add_exp, ADX_INF, ADX_INF, 0, 0.5,                  0.5,                    0,   0, "tie: shared equally" )                  \
    ROW( log_add_exp, -ADX_INF, 1, 0,   0,                       1,                      0,   0, "true limit" )                           \
    ROW( log_add_exp, 40,   0,     0,   1,                       4.248354255291589e-18,  0,   3, "1 - d/dx would be 0" )                  \
    ROW( log_add_exp, 1e308, -1e308, 0, 1,                       0,                      0,   0, "x - y overflows" )                      \
    ROW( fmod,     7,       2,     0,   1,                       -3,                     0,   0, "minus the quotient" )                   \
    ROW( remainder, 1.7e308, 1e308, 0,  1,                       -2,                     0,   0, "v - x would overflow" )                 \
    ROW( select,   0,       ADX_NAN,   2,   0,                       0,                      1,   0, "the branch not taken has weight 0" )

#define ADREV_EDGES_SECOND(ROW)                                                                                                           \
    /*   op        x        y           want d2/dx2              d2/dxdy                 d2/dy2  ulps  because */                         \
    ROW( sqrt,     0,       0,          -ADX_INF,                0,                      0,      0, "true limit" )                        \
    ROW( sqrt,     ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( cbrt,     ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( hypot,    1,       1e-100,     1e-200,                  -1e-100,                1,      3, "1 - (x/v)^2 would be 0" )            \
    ROW( hypot,    ADX_INF, 1,          0,                       0,                      0,      0, "true limits" )                       \
    ROW( pow,      0,       2,          2,                       0,                      0,      0, "true limits" )                       \
    ROW( pow,      1e-200,  2,          2,                       -9.2003403719761827e-198, 0,    3, "value underflows, partials do not" ) \
    ROW( pow,      1e-163,  1e-19,      -1e307,                  1e163,                  140866.13089730055, 4, "no factor overflows" )   \
    ROW( pow,      ADX_INF, -1,         0,                       0,                      0,      0, "true limits" )                       \
    ROW( pow,      -2,      3,          -12,                     ADX_NAN,                ADX_NAN, 2, "integer exponent: d2/dx2 exists" )  \
    ROW( powi,     0,       2,          2,                       0,                      0,      0, "its own curvature at 0 too" )        \
    ROW( powi,     -1e-200, 3,          -6e-200,                 0,                      0,      2, "value underflows, partial does not" ) \
    ROW( powi,     7e208,   3,          4.2e209,                 0,                      0,      3, "value overflows, partial does not" ) \
    ROW( log,      0,       0,          -ADX_INF,                0,                      0,      0, "true limit" )                        \
    ROW( log1p,    ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( asin,     1e-8,    0,          1.0000000000000002e-8,   0,                      0,      2, "(1 - x)(1 + x) would cancel" )       \
    ROW( asin,     1e-300,  0,          1e-300,                  0,                      0,      0, "x, not 0" )                          \
    ROW( asin,     1,       0,          ADX_INF,                 0,                      0,      0, "true limit" )                        \
    ROW( acos,     1e-300,  0,          -1e-300,                 0,                      0,      0, "-x, not 0" )                         \
    ROW( atan,     1e100,   0,          -2e-300,                 0,                      0,      4, "no square overflows" )               \
    ROW( atan,     1.7e308, 0,          0,                       0,                      0,      0, "2 x overflows" )                     \
    ROW( atan,     ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( atan2,    1,       1.0000000000000002, -0.49999999999999989, -1.1102230246251563e-16, 0.49999999999999989, 4, "of the squares' difference nothing is lost" ) \
    ROW( atan2,    1,       ADX_INF,    0,                       0,                      0,      0, "true limits" )                       \
    ROW( tanh,     20,      0,          -3.398683404233272e-17,  0,                      0,      4, "1 - v*v is 0 here" )                 \
    ROW( tanh,     ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( asinh,    ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( acosh,    1,       0,          -ADX_INF,                0,                      0,      0, "true limit" )                        \
    ROW( atanh,    1e-300,  0,          2e-300,                  0,                      0,      0, "2 x, not 0" )                        \
    ROW( atanh,    1,       0,          ADX_INF,                 0,                      0,      0, "true limit" )                        \
    ROW( sigmoid,  ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( softplus, -ADX_INF, 0,         0,                       0,                      0,      0, "true limit" )                        \
    ROW( erf,      1.7e308, 0,          0,                       0,                      0,      0, "2 x overflows" )                     \
    ROW( erf,      ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( lgamma,   -1e10 - 0.5, 0,      9.8696044009893586,      0,                      0,      3, "reflected" )                         \
    ROW( lgamma,   ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( lgamma,   0,       0,          ADX_INF,                 0,                      0,      0, "true limit" )                        \
    ROW( digamma,  0,       0,          -ADX_INF,                0,                      0,      0, "true limit, on the side of this zero" ) \
    ROW( digamma,  ADX_INF, 0,          0,                       0,                      0,      0, "true limit" )                        \
    ROW( digamma,  1e-50,   0,          -2e150,                  0,                      0,      4, "-2/x^3" )                            \
    ROW( polygamma, 2,      ADX_INF,    0,                       0,                      0,      0, "true limit" )                        \
    ROW( gamma_p,  2,       0,          0,                       0,                      1,      0, "x exp(-x)" )                         \
    ROW( gamma_p,  3,       ADX_INF,    0,                       0,                      0,      0, "true limits" )                       \
    ROW( jn,       0,       0,          0,                       0,                      -0.5,   0, "its largest value" )                 \
    ROW( jn,       2,       0,          0,                       0,                      0.25,   0, "x^2/8" )                             \
    ROW( jn,       1,       ADX_INF,    0,                       0,                      0,      0, "true limit" )                        \
    ROW( yn,       0,       0,          0,                       0,                      -ADX_INF, 0, "true limit" )                      \
    ROW( yn,       0,       1e-100,     0,                       0,                      -6.3661977236758134e199, 2, "-2/(pi x^2)" )      \
    ROW( exp10,    0,       0,          5.3018981104783981,      0,                      0,      2, "log(10)^2" )                         \
    ROW( log_add_exp, 0,    0,          0.25,                    -0.25,                  0.25,   0, "tie" )                               \
    ROW( log_add_exp, ADX_INF, 1,       0,                       0,                      0,      0, "true limits" )
// clang-format on

/* --- what is made from the rows here ------------------------------------- */

#define ADX_ENUM(name, ...) ADREV_OP_##name,
typedef enum ad_opcode {
    ADREV_OPS(ADX_ENUM) ADREV_STEPS(ADX_ENUM) ADREV_COMPARISONS(ADX_ENUM)
    ADREV_OP_detach,            // ad_detach: only a trace hook meets it
    ADREV_OP_COUNT
} ad_opcode;
#undef ADX_ENUM

// The attributes of all codes, in their order: a list for an initializer.
#define ADX_LAST_OF_ROW(name, n, f, fx, fy, fz, x0, x1, y0, y1, z0, z1, how) how,
#define ADX_LAST_OF_STEP(name, f, x0, x1, how) how,
#define ADX_SHORT_ONE(...)                     ADX_COST_SHORT,
#define ADX_ATTRIBUTES                                                      \
    ADREV_OPS(ADX_LAST_OF_ROW) ADREV_STEPS(ADX_LAST_OF_STEP)                \
    ADREV_COMPARISONS(ADX_SHORT_ONE) ADX_SHORT_ONE(detach)

// Whether a cell is 1.
#define ADX_IS_ONE(cell) ((#cell)[0] == '1' && (#cell)[1] == '\0')

// A row as data: for documentation, generated code and tests.
typedef struct ad_op_info {
    const char *name;
    int arity;
    const char *value;          // C expressions
    const char *partial[3];
    double box[6];              // x from, to, y from, to, z from, to
} ad_op_info;

#define ADX_DEFINE(name, n, f, fx, fy, fz, ...)                             \
    ADX_INLINE ad_real adx_f_##name(ad_real x, ad_real y, ad_real z)        \
        { (void)x; (void)y; (void)z; return f; }                            \
    ADX_INLINE ad_real adx_fx_##name(ad_real x, ad_real y, ad_real z,       \
                                     ad_real v)                             \
        { (void)x; (void)y; (void)z; (void)v; return fx; }                  \
    ADX_INLINE ad_real adx_fy_##name(ad_real x, ad_real y, ad_real z,       \
                                     ad_real v)                             \
        { (void)x; (void)y; (void)z; (void)v; return fy; }                  \
    ADX_INLINE ad_real adx_fz_##name(ad_real x, ad_real y, ad_real z,       \
                                     ad_real v)                             \
        { (void)x; (void)y; (void)z; (void)v; return fz; }
ADREV_OPS(ADX_DEFINE)
#undef ADX_DEFINE

#define ADX_DEFINE(name, f, ...)                                            \
    ADX_INLINE ad_real adx_f_##name(ad_real x) { return f; }
ADREV_STEPS(ADX_DEFINE)
#undef ADX_DEFINE

/* === core/api ===============================================================
 * Every function states what it costs and what it does on bad input. Unless
 * it says otherwise:
 *
 *   - a status other than ADREV_OK leaves the outputs untouched
 *   - a tape may be NULL, and a query then returns ADREV_ENOTAPE
 *   - one thread at a time uses a tape; different threads may use different
 *     tapes at once
 *   - nothing is allocated
 *
 * Compilers warn where a status is dropped; ad_ignore drops it on purpose. They
 * do not warn for functions that record on the current tape (ad_external;
 * ad_map, ad_scan and the like), because the tape keeps the status and the next
 * query returns it; nor for ad_check_print, ad_dump_text and ad_dump_dot, whose
 * status says nothing new.
 *
 *   needs   core/config core/types core/operations
 *   offers  ADX_TALLY adx_is_counted adx_count_op adx_count_reverse
 * ========================================================================== */

// A program that adrev can differentiate: R^n -> R, and R^n -> R^m.
typedef ad_rev ad_scalar_fn(const ad_rev *x, void *ctx);
typedef void ad_vector_fn(const ad_rev *x, ad_rev *y, void *ctx);

/* --- tapes --------------------------------------------------------------- */

// A growing tape. It keeps its memory from recording to recording.
//
//   returns      the tape, not yet current; NULL if out of memory
//   memory       a few hundred bytes now; when recording, blocks of ADREV_BLOCK
//                bytes and more; when sweeping, adjoints
//   see          examples/01_derivative.c
#if !defined ADREV_NO_STDLIB && !ADREV_FIXED
ADX_API ad_tape *ad_tape_new(void);
#endif

// The same with the caller's allocator. The struct is copied.
//
//   returns      NULL if out of memory, or if a function is missing
#if !ADREV_FIXED
ADX_API ad_tape *ad_tape_new_with(const ad_allocator *allocator);
#endif

// A tape in fixed memory: nothing is ever allocated. The adjoints of a sweep
// lie in the same buffer, where room for one adjoint per value is left free.
//
//   buffer [bytes]  stays the caller's, and must outlive the tape
//   returns      the tape; NULL if the buffer is NULL or too small
//   see          ad_tape_bytes; examples/05_fixed_memory.c
ADX_API ad_tape *ad_tape_in(void *buffer, size_t bytes);

// Gives all memory back. If the tape was current on this thread, no tape is
// afterwards. NULL is allowed. After ad_tape_in the call is optional, unless a
// statement has something to destroy (ad_external_rule).
ADX_API void ad_tape_free(ad_tape *t);

// Starts a new recording: values recorded so far become foreign, a failed tape
// works again, memory is kept. A statement with a foreign value among its
// operands fails the tape. Operations that need only the number of a foreign
// value still work: comparisons, ad_floor, ad_value, ad_detach, ad_dual, and
// ad_select for the side that it does not take. Cost: some counters, whatever
// the length.
ADX_API void ad_tape_clear(ad_tape *t);

// Bytes of fixed memory that the present recording needs, exactly: ad_tape_in
// with a buffer of this size (aligned as by malloc) records and sweeps the same
// program. That is 12 bytes per operand, 2 per statement, 8 per value, and the
// tape itself. Measure on a growing tape, since one that is full counts only
// what it has recorded; and with the compiler and the optimisation level that
// the buffer is for, since they decide which operands are merged. If the
// program rewinds or calls ad_grad or ad_jac, take bytes_most of ad_tape_stats
// instead.
ADX_API size_t ad_tape_bytes(const ad_tape *t);

ADX_API ad_stats ad_tape_stats(const ad_tape *t);

// Makes room now, so that so many more statements, with so many operands in
// all, can be recorded and swept without an allocation.
//
//   returns      ADREV_OK; ADREV_ENOMEM or ADREV_EFULL, with the tape unchanged
ADX_TRY ad_status ad_tape_reserve(ad_tape *t, size_t statements,
                                  size_t operands);

// Makes a tape current on the calling thread: what is computed from now on is
// recorded there. NULL: nothing is recorded, and every value is a constant.
//
// Call ad_use(NULL) before a thread ends or hands its tape to another thread.
//
//   returns      the tape that was current, or NULL
ADX_API ad_tape *ad_use(ad_tape *t);

// Recording cannot return a status. So a tape that met an error remembers it
// and records nothing more, and every query returns it until the tape is
// cleared, or rewound to before the error.
ADX_TRY ad_status ad_tape_status(const ad_tape *t);

// The status in words; never NULL.
ADX_API const char *ad_message(ad_status status);

// Drops a status on purpose: ad_ignore(ad_pool_use(pool)). (With a cast to void
// gcc still warns.)
ADX_INLINE void ad_ignore(ad_status status) { (void)status; }

// Where a failed tape met its error. Known if the statement was compiled with
// ADREV_DEBUG.
//
//   file, line   out   NULL and 0 if unknown
ADX_API void ad_tape_failed_at(const ad_tape *t, const char **file, int *line);

// The old name of ad_tape_failed_at; the next version is without it.
ADX_INLINE void ad_tape_failure(const ad_tape *t, const char **file, int *line)
{
    ad_tape_failed_at(t, file, line);
}

// Makes the tape fail with ADREV_ENONFINITE at the first input or result that
// is infinite or NaN; false takes that back, ad_tape_clear does not.
// ad_tape_failed_at names the place; a debugger stops there with a breakpoint
// on adx_fail_because (docs/debugging.md). Only statements compiled with
// ADREV_DEBUG are looked at, and inputs and array statements if the
// implementation is; others pass unnoticed, and cost nothing.
ADX_API void ad_tape_stop_nonfinite(ad_tape *t, bool stop);

// Why the tape failed, in one sentence: the text of ad_message or, if the
// status has several causes (ADREV_EHOOK), the one that it was. Never NULL, and
// always valid.
ADX_API const char *ad_tape_reason(const ad_tape *t);

// Makes the current tape fail: for statements of your own (ad_external) that
// cannot be computed. As after any failure, the first error stays, nothing more
// is recorded, and every query says so until the tape is cleared or rewound.
//
//   status       in    not ADREV_OK, with which nothing happens
//   why          in    a sentence for ad_tape_reason, which must live as long
//                      as the tape; NULL: the text of ad_message
//
//   returns      the first error of the tape; `status` if no tape is current
//   see          adapters/adrev_lapack.h
ADX_API ad_status ad_fail(ad_status status, const char *why);

// Bytes that fixed memory lacked, adjoints included, for the statement at which
// the tape failed with ADREV_EFULL: that statement needs exactly so many more.
// What comes after it needs more still; ad_tape_bytes of a growing tape says
// how much in all. 0: the tape has not failed in this way, or what was missing
// is not part of the tape.
ADX_API size_t ad_tape_missing(const ad_tape *t);

// Where a value was recorded: file and line as in ad_tape_failed_at. Cost: one
// pass over the tape.
ADX_API void ad_tape_where(const ad_tape *t, ad_rev x, const char **file,
                           int *line);

// Remembers this place of the recording.
ADX_API ad_mark ad_tape_mark(ad_tape *t);

// Forgets what was recorded since the mark. Values from before it stay valid,
// later ones become foreign, and an error since then is forgotten, too. A tape
// may be rewound to the same mark any number of times.
//
//   returns      ADREV_OK; ADREV_EMARK if the mark is not on this recording or
//                rewound marks nest deeper than ADREV_MARKS; ADREV_EBUSY while
//                a fork is open; ADREV_ENOTAPE
//   cost         constant; afterwards each use of a value from before the mark
//                costs a function call
ADX_TRY ad_status ad_tape_rewind(ad_tape *t, ad_mark mark);

/* --- inputs -------------------------------------------------------------- */

// A new input on the current tape; without a current tape, a constant. (To make
// a constant on purpose, write ad_rec(2.5); a struct of zeros is one, too.)
// Inputs made one after the other share one entry of 14 bytes; those at the
// start of a recording need none.
ADX_API ad_rev ad_input(ad_real v);

//   x    [n]     in    values
//   out  [n]     out   the inputs; constants if the tape fails
ADX_API void ad_inputs(size_t n, const ad_real x[], ad_rev out[]);

/* --- derivatives --------------------------------------------------------- */

// Gradient of one recorded value.
//
//   y            in    a value recorded on t
//   x   [n]      in    values recorded on t, usually inputs
//   g   [n]      out   g[i] = dy/dx[i]             unit: y per x[i]
//
//   returns      ADREV_OK; the error of a failed tape; ADREV_EFOREIGN,
//                ADREV_EPASSIVE (y or an x is a constant), ADREV_ESHAPE (n
//                above the number of values, or NULL); ADREV_ENOMEM;
//                ADREV_EEXTERNAL (a user's rule failed, or lacks a function)
//   cost         one reverse sweep over the recording
//   memory       8 bytes per value, kept for the next sweep
//   see          examples/01_derivative.c, tests/core/tape.c
ADX_TRY ad_status ad_gradient(ad_tape *t, ad_rev y, size_t n,
                              const ad_rev x[], ad_real g[]);

// Adjoints of x for given adjoints of y: dx = dy J. May be repeated.
//
//   y   [m]      in    outputs; constants among them contribute nothing, but if
//                      all are constants, the status is ADREV_EPASSIVE
//   dy  [m]      in    weights of the outputs
//   dx  [n]      out   dx[j] = sum over i of dy[i] J[i*n + j]
//
//   returns, cost, memory: as ad_gradient
ADX_TRY ad_status ad_pullback(ad_tape *t, size_t m, const ad_rev y[],
                              const ad_real dy[], size_t n, const ad_rev x[],
                              ad_real dx[]);

// Tangents of y for given tangents of x: dy = J dx. May be repeated.
//
//   dx  [n]      in    direction
//   dy  [m]      out   0 for outputs that are constants, if not all are
//
//   returns, cost, memory: as ad_pullback, with one forward sweep
ADX_TRY ad_status ad_pushforward(ad_tape *t, size_t n, const ad_rev x[],
                                 const ad_real dx[], size_t m,
                                 const ad_rev y[], ad_real dy[]);

// Dense Jacobian, row by row: J[i*n + j] = dy[i]/dx[j].
//
//   J   [m*n]    out   rows of outputs that are constants are 0; undefined
//                      with ADREV_EEXTERNAL
//
//   returns      as ad_pullback
//   cost         a reverse sweep for every 8 outputs or a forward sweep for
//                every 8 inputs, whichever makes fewer sweeps; reverse if a
//                statement cannot go forward
//   memory       64 bytes per value; where there is less, sweeps are narrower,
//                and there are more of them
ADX_TRY ad_status ad_jacobian(ad_tape *t, size_t m, const ad_rev y[],
                              size_t n, const ad_rev x[], ad_real J[]);

// Everything in one call: inputs, program, sweep. Records on the current tape,
// after what is there, and leaves the tape as it was; without a current tape,
// on one of its own, which allocates (with ADREV_FIXED: ADREV_ENOTAPE).
//
//   x   [n]      in    point
//   y            out   value; may be NULL
//   g   [n]      out   gradient; NULL: only the value. Then f is given
//                      constants, nothing is swept, and f may return a constant
//
//   returns      as ad_gradient, and any error met while f was recorded; of
//                several the first. ADREV_EBEYOND: f used x[n] or one of the
//                three numbers behind it; ADREV_ESHAPE: both y and g are NULL,
//                and n > 0
ADX_TRY ad_status ad_grad(ad_scalar_fn *f, void *ctx, size_t n,
                          const ad_real x[], ad_real *y, ad_real g[]);

//   y   [m]      out   values; may be NULL
//   J   [m*n]    out   Jacobian, row by row; NULL: only the values, as above
//
//   returns      as ad_grad; ADREV_EBEYOND also if f wrote y[m] or one of the
//                three numbers behind it; ADREV_ESHAPE also if f did not set
//                all of y
ADX_TRY ad_status ad_jac(ad_vector_fn *f, void *ctx, size_t n,
                         const ad_real x[], size_t m, ad_real y[],
                         ad_real J[]);

/* --- hooks --------------------------------------------------------------- */

typedef struct ad_external_rule ad_external_rule;

// One operation, as a hook is told of it.
typedef struct ad_operation {
    ad_opcode code;
    ad_rev result;          // of a comparison: the constant 0 or 1
    ad_rev arg[3];          // job 0: a constant
    const char *file;       // NULL unless compiled with ADREV_DEBUG
    int line;
} ad_operation;

// An array or external statement, as a hook is told of it.
typedef enum ad_array_kind {
    ADREV_ARRAY_sum, ADREV_ARRAY_dot, ADREV_ARRAY_norm2, ADREV_ARRAY_sqdist,
    ADREV_ARRAY_logsumexp, ADREV_ARRAY_softmax, ADREV_ARRAY_axpy,
    ADREV_ARRAY_scale, ADREV_ARRAY_each, ADREV_ARRAY_matmul,
    ADREV_ARRAY_trimatvec, ADREV_ARRAY_external
} ad_array_kind;

// An operand: element (i, j) is x[i*rs + j*cs] or, if x is NULL, the constant
// c[i*rs + j*cs]. A vector is one row.
typedef struct ad_array_view {
    const ad_rev *x;
    const ad_real *c;
    size_t rows;
    size_t cols;
    ptrdiff_t rs;
    ptrdiff_t cs;
} ad_array_view;

typedef struct ad_array_operation {
    ad_array_kind kind;
    ad_opcode code;         // of ADREV_ARRAY_each
    ad_array_view arg[3];   // what the function of that name takes, in its
                            // order; valid during the call
    ad_rev result;          // the first one; the ids of the others follow. v: 0
    size_t results;
    const ad_external_rule *rule;
    const void *saved;      // these are NULL and 0 but for ADREV_ARRAY_external
    size_t bytes;
    const char *file;       // NULL unless compiled with ADREV_DEBUG
    int line;
    bool *kept;             // out, of ADREV_ARRAY_external: a hook that copied
                            // what was saved sets it. Then it is the hook, not
                            // the tape, that calls destroy: once, with the
                            // copy, when the tape is gone
} ad_array_operation;

// trace        is told of every operation, step function and comparison with a
//              recorded operand, in an order in which C may evaluate them.
//              While it is set, each operation is a statement of its own, and
//              ad_detach is an operation. So are ad_value and ad_dual of a
//              recorded number, with a constant as their result, because the
//              program may do anything with the plain number. Code compiled
//              without ADREV_TRACE does not tell the hook: when it records, the
//              tape fails with ADREV_EHOOK (its comparisons pass unnoticed).
//              The tape also fails so for an ad_expr that was made before the
//              hook was set.
// array        is told of every array and external statement that is recorded
//              while trace is set. NULL: such a statement fails the tape with
//              ADREV_EHOOK.
// foreign      is asked for a value that is not of this recording. It returns a
//              value that is, or a constant, or x itself to say no. Only the id
//              of x is known; x.v is 0. It may be asked again for the same x,
//              and must then give the same answer.
// Any of them may be NULL.
typedef struct ad_hooks {
    void (*trace)(void *user, const ad_operation *operation);
    ad_rev (*foreign)(void *user, ad_rev x);
    void *user;
    void (*array)(void *user, const ad_array_operation *operation);
} ad_hooks;

// Sets the hooks of a tape. The struct is copied; NULL sets none, as at the
// beginning. While a function that has inputs is recorded on the tape
// (adrev_function.h), this call fails the tape with ADREV_EHOOK.
#if !ADREV_FIXED
ADX_API void ad_tape_hooks(ad_tape *t, const ad_hooks *hooks);
#endif

// The rows of core/operations, [ADREV_OP_COUNT].
ADX_API const ad_op_info *ad_op_table(void);

/* --- operators for other languages ------------------------------------------
 * Functions that record an operation by its code, where macros and inlined
 * functions are out of reach: from Python, Fortran, Julia, Lua. ad_rev is
 * passed by value, a struct of an ad_real and two uint32_t.                  */

// One operation, recorded on the current tape as one statement. The result is
// that of ad_rec for the operator of this name. A constant among the arguments
// (job 0) counts as a plain number.
//
//   op           in    ADREV_OP_..., of the arity of the function; see
//                      ad_op_find
//
// op may be a row of the table; a step function, whose result is a constant;
// ADREV_OP_detach; or a comparison, whose result is the constant 0 or 1. The
// first argument of ADREV_OP_select is its condition. If that is not 0, the
// result is the second argument, else the third, without a statement. The
// exponent of powi and ldexp (second argument) and the order of polygamma, jn
// and yn (first) are parameters: constants that are whole numbers. A hook is
// told of each operation, so functions can be recorded in this way, whatever
// ADREV_TRACE is.
//
//   returns      a constant if all arguments are, or without a tape. NaN, and
//                the tape fails with ADREV_ESHAPE, if op is no operation of so
//                many arguments, or a parameter is not a whole constant
//   cost         that of the operation, and the search for it by its code: 2 to
//                10 ns; one statement
//   see          docs/operations.md, tests/core/exported.c
ADX_API ad_rev ad_op1(unsigned op, ad_rev x);
ADX_API ad_rev ad_op2(unsigned op, ad_rev x, ad_rev y);
ADX_API ad_rev ad_op3(unsigned op, ad_rev x, ad_rev y, ad_rev z);

// Name and number of arguments of an operation: "mul", 2. NULL and 0: no
// operation has this code. Codes are those of one version of the library
// (ad_version); names stay.
ADX_API const char *ad_op_name(unsigned op);
ADX_API unsigned ad_op_arity(unsigned op);

// The code of an operation's name, without prefix: "mul", "sin", "lt"; also
// "fabs", "fmin" and "fmax". ADREV_OP_COUNT: there is none; every larger code
// is refused, too. Cost: one pass over the table.
ADX_API unsigned ad_op_find(const char *name);

// The version of the implementation that was linked: "0.1.0".
ADX_API const char *ad_version(void);

/* --- external and array statements ------------------------------------------
 * Each call is one statement, however many operands it has. Matrices are given
 * by strides, counted in elements: element (i, j) of A is A[i*ars + j*acs].
 * Strides may be 0 (the same number again) or negative. Inputs may overlap one
 * another, and constants among them cost nothing in reverse. Where a function
 * says so, its output may be an input, element by element; otherwise outputs
 * overlap no input. Memory per operand: 8 bytes for its partial, unless all
 * partials are equal; and 4 bytes for its id, unless ids are evenly spaced, as
 * those of inputs or results of one call are. If an array is NULL and its
 * length is not 0, the tape fails with ADREV_ESHAPE; a number that would be
 * returned is then NaN, and arrays are left as they are. Under a trace hook
 * without `array` the tape fails with ADREV_EHOOK.                           */

// What `replay` is given, and what it is asked for. With y = F(x), tangents
// (..d) along xd and adjoints (..b) for weights yb:
//
//     y   = F(x)              yd  = J(x) xd
//     xb  = yb J(x)           xbd = ybd J(x) + yb (dJ/dx xd)
//
// A pointer that is NULL is not given, or not asked for. A call asks for one of
//
//     y                  given x              xb              given x, yb
//     y and yd           given x, xd          xb and xbd      given all
//
// What is asked for is 0 before the call, and overlaps nothing. A call is for
// one direction, or for k of them if the rule is `abreast`: then x and y are
// those of all directions, and each other array has a row for each.
//
// A replay takes from `saved` only what does not depend on x; the rest belongs
// to the point where the statement was recorded. It returns false if it cannot
// do what is asked, or not at this point. Several threads may call it at once.
// It is not called where all adjoints are 0, and is given no tangents where all
// of them are 0. For points or directions side by side, it is not called twice
// in a row with the same numbers.
typedef struct ad_external_point {
    size_t n;               // inputs
    size_t m;               // results
    size_t k;               // directions; 0: y alone is asked for
    const ad_real *x;       // [n] inputs, always given
    const ad_real *xd;      // [k*n] their tangents
    const ad_real *yb;      // [k*m] adjoints of the results
    const ad_real *ybd;     // [k*m] tangents of yb
    ad_real *y;             // [m] out: results
    ad_real *yd;            // [k*m] out: their tangents
    ad_real *xb;            // [k*n] out: adjoints of the inputs
    ad_real *xbd;           // [k*n] out: tangents of xb
} ad_external_point;

// A user's own derivative. All functions are given what was saved. All but
// destroy return true, or false if they failed; then the query returns
// ADREV_EEXTERNAL. No tape is current while they run: they may use other tapes,
// or ad_grad, but not this tape.
//
// pullback     adds the adjoints of the inputs to dx[n]: dx += dy J. It must
//              not write to saved or dy: dy may be the tape's own adjoints
// pullback_n   the same for k directions at once, at most 8 (ad_jacobian):
//              direction r has row r of dy[k*m], and adds to row r of dx[k*n].
//              NULL: pullback is called for each of them
// pushforward  sets dy[m] to the tangents of the outputs: dy = J dx. NULL: no
//              query can go forward then
// pushforward_n   the same for k directions at once: from row r of dx[k*n] to
//              row r of dy[k*m]. NULL: pushforward is called for each of them
// destroy      is called once for each statement: with the copy of saved, when
//              the statement leaves the tape (clear, rewind, free); or, if it
//              was not recorded, at once and with saved itself. v may lie in
//              what it frees. For a statement in a recorded function
//              (adrev_function.h) it is called when the last function that has
//              the statement is freed. May be NULL
// replay       evaluates the statement at any point: see ad_external_point.
//              NULL: a function with this statement cannot be recorded
// abreast      true: a call of replay may be for several directions, at most
//              ADREV_LANES_MOST, so that what they share is computed once (the
//              factors of a matrix)
// always       true: what the rule does matters beside its numbers, as if it
//              sends messages. The statement is recorded even if all inputs are
//              constants (its results are then recorded numbers), may have no
//              results (m = 0), and each sweep that comes to it calls pullback
//              or pushforward for every direction, even if all of dy or dx is
//              0. So does each sweep over a checkpoint, a scan or a fork with
//              such a statement. Where sweeps leave out what has no adjoint, in
//              recorded functions and maps, the tape fails with ADREV_EHOOK
struct ad_external_rule {
    const char *name;
    bool (*pullback)(const void *saved, size_t m, const ad_real dy[],
                     size_t n, ad_real dx[]);
    bool (*pushforward)(const void *saved, size_t n, const ad_real dx[],
                        size_t m, ad_real dy[]);
    void (*destroy)(const void *saved);
    bool (*replay)(const void *saved, const ad_external_point *at);
    bool (*pullback_n)(const void *saved, size_t k, size_t m,
                       const ad_real dy[], size_t n, ad_real dx[]);
    bool always;
    bool abreast;
    bool (*pushforward_n)(const void *saved, size_t k, size_t n,
                          const ad_real dx[], size_t m, ad_real dy[]);
};

// Private copies have them only if they are defined: gcc warns otherwise.
#if ADREV_FIXED < 2 || !defined ADREV_STATIC

// Records the m results v, computed from x, as one statement with the user's
// own derivative.
//
//   rule             in    stays the caller's, and must outlive the recording
//   saved [bytes]    in    copied onto the tape, aligned as by malloc
//   x     [n]        in    numbers
//   v     [m]        in    values of the results
//   y     [m]        out   the results, which may lie where x does; constants
//                          if all of x are, but for `always`, or if the tape
//                          fails
//
//   returns      ADREV_OK; the error of a failed tape; ADREV_EEXTERNAL (no
//                pullback), ADREV_ESHAPE (m is 0 without `always`, or NULL) or
//                ADREV_EHOOK (`always` where that cannot be), with which the
//                tape fails, too
//   cost         in each reverse sweep, a call of pullback per direction, or of
//                pullback_n for several, except where all of dy is 0, but for
//                `always`
//   memory       `bytes`, about 100 bytes, and 4 per operand if the ids are not
//                evenly spaced; once per tape, n + m numbers for each direction
//                of a sweep
//   see          examples/09_linear_solve.c; with a replay,
//                tests/function/function_external.c
ADX_API ad_status ad_external(const ad_external_rule *rule, const void *saved,
                              size_t bytes, size_t n, const ad_rev x[],
                              size_t m, const ad_real v[], ad_rev y[]);

// Sum of x (ad_sum), of x*y (ad_dot) and of x*c (ad_dotc). n = 0: constant 0.
ADX_API ad_rev ad_sum(size_t n, const ad_rev x[]);
ADX_API ad_rev ad_sum_s(size_t n, const ad_rev *x, ptrdiff_t incx);
ADX_API ad_rev ad_dot(size_t n, const ad_rev x[], const ad_rev y[]);
ADX_API ad_rev ad_dot_s(size_t n, const ad_rev *x, ptrdiff_t incx,
                        const ad_rev *y, ptrdiff_t incy);
ADX_API ad_rev ad_dotc(size_t n, const ad_rev x[], const ad_real c[]);
ADX_API ad_rev ad_dotc_s(size_t n, const ad_rev *x, ptrdiff_t incx,
                         const ad_real *c, ptrdiff_t incc);

// Euclidean norm, scaled against overflow. At 0 the derivative is 0.
ADX_API ad_rev ad_norm2(size_t n, const ad_rev x[]);
ADX_API ad_rev ad_norm2_s(size_t n, const ad_rev *x, ptrdiff_t incx);

// Sum of (x - y)^2.
ADX_API ad_rev ad_sqdist(size_t n, const ad_rev x[], const ad_rev y[]);
ADX_API ad_rev ad_sqdist_s(size_t n, const ad_rev *x, ptrdiff_t incx,
                           const ad_rev *y, ptrdiff_t incy);

// log of the sum of exp(x), for entries of any size. If the largest entry is
// infinite, it is the result; -inf if n = 0. Infinite entries that tie share
// the derivative equally.
ADX_API ad_rev ad_logsumexp(size_t n, const ad_rev x[]);
ADX_API ad_rev ad_logsumexp_s(size_t n, const ad_rev *x, ptrdiff_t incx);

// y = exp(x) / sum of exp(x), the gradient of ad_logsumexp. y may be x.
ADX_API void ad_softmax(size_t n, const ad_rev x[], ad_rev y[]);
ADX_API void ad_softmax_s(size_t n, const ad_rev *x, ptrdiff_t incx,
                          ad_rev *y, ptrdiff_t incy);

// ad_axpy: y = a x + y. ad_scale: y = a x, where y may be x.
ADX_API void ad_axpy(size_t n, ad_rev a, const ad_rev x[], ad_rev y[]);
ADX_API void ad_axpy_s(size_t n, ad_rev a, const ad_rev *x, ptrdiff_t incx,
                       ad_rev *y, ptrdiff_t incy);
ADX_API void ad_scale(size_t n, ad_rev a, const ad_rev x[], ad_rev y[]);
ADX_API void ad_scale_s(size_t n, ad_rev a, const ad_rev *x, ptrdiff_t incx,
                        ad_rev *y, ptrdiff_t incy);

// A row of the operator table, element by element: y[i] = op(a[i], b[i], c[i]).
// Arguments that the row does not have are NULL; y may be one of the others.
//
//   op           in    not a comparison (with one the tape fails with
//                      ADREV_ESHAPE, and y is not written); the condition of
//                      select is a
//   see          docs/operations.md
ADX_API void ad_each(ad_opcode op, size_t n, const ad_rev a[],
                     const ad_rev b[], const ad_rev c[], ad_rev y[]);
ADX_API void ad_each_s(ad_opcode op, size_t n, const ad_rev *a,
                       ptrdiff_t inca, const ad_rev *b, ptrdiff_t incb,
                       const ad_rev *c, ptrdiff_t incc, ad_rev *y,
                       ptrdiff_t incy);

// y = A x, where A has m rows and n columns. ad_matvecc: with a constant A.
ADX_API void ad_matvec(size_t m, size_t n, const ad_rev A[], const ad_rev x[],
                       ad_rev y[]);
ADX_API void ad_matvec_s(size_t m, size_t n, const ad_rev *A, ptrdiff_t ars,
                         ptrdiff_t acs, const ad_rev *x, ptrdiff_t incx,
                         ad_rev *y, ptrdiff_t incy);
ADX_API void ad_matvecc(size_t m, size_t n, const ad_real A[],
                        const ad_rev x[], ad_rev y[]);

// C = A B, where A is m x k, B is k x n, and C is m x n.
ADX_API void ad_matmul(size_t m, size_t k, size_t n, const ad_rev A[],
                       const ad_rev B[], ad_rev C[]);
ADX_API void ad_matmul_s(size_t m, size_t k, size_t n, const ad_rev *A,
                         ptrdiff_t ars, ptrdiff_t acs, const ad_rev *B,
                         ptrdiff_t brs, ptrdiff_t bcs, ad_rev *C,
                         ptrdiff_t crs, ptrdiff_t ccs);

// y = L x, where L is lower triangular: d[n] is its diagonal (NULL: ones), and
// l[n(n-1)/2] is what lies below, column by column: (1,0), (2,0) ... (n-1,0),
// (2,1) ...
ADX_API void ad_trimatvec(size_t n, const ad_rev d[], const ad_rev l[],
                          const ad_rev x[], ad_rev y[]);
#endif

/* --- operation counts -------------------------------------------------------
 * With ADREV_COUNT: what the calling thread has computed on recorded numbers.
 * Of sweeps, only those in one direction (gradient, pullback) are counted. In
 * `reverse`, a product with 1 or -1 does not count, and the first contribution
 * to an adjoint is no addition; partials that are multiplied while an
 * expression is recorded do count.                                           */

#if ADREV_COUNT
typedef struct ad_operations {
    uint64_t add;           // additions, subtractions
    uint64_t mul;           // multiplications, divisions
    uint64_t fn;            // other rows of the table
    uint64_t written;       // reverse: adjoints stored
} ad_operations;

typedef struct ad_count_both {
    ad_operations forward;
    ad_operations reverse;
} ad_count_both;

// Set it to zero before you begin.
#ifdef ADREV_STATIC
static ADX_THREAD ad_count_both ad_counts ADX_UNUSED;
#else
ADX_EXTERN ADX_THREAD ad_count_both ad_counts;
#endif

#define ADX_TALLY(direction, what, times)                                   \
    ((void)(ad_counts.direction.what += (uint64_t)(times)))

ADX_INLINE bool adx_is_counted(ad_real factor)
{
    return factor != 1 && factor != -1;
}

// Counts one operation with so many recorded arguments.
ADX_INLINE void adx_count_op(ad_opcode op, unsigned active)
{
    static const unsigned short attributes[] = { ADX_ATTRIBUTES };
    const unsigned how = attributes[op];
    const bool fn = (how & (ADX_ADDS | ADX_TIMES)) == 0;
    ADX_TALLY(forward, add, active > 0 && (how & ADX_ADDS) != 0);
    ADX_TALLY(forward, mul, active > 0 && (how & ADX_TIMES) != 0);
    ADX_TALLY(forward, fn, active > 0 && fn);
    ADX_TALLY(reverse, mul, (how & ADX_SCALES) != 0 ? active : 0);
    ADX_TALLY(reverse, fn, fn ? active : 0);
}

// One contribution to an adjoint.
ADX_INLINE void adx_count_reverse(ad_real factor, ad_real adjoint)
{
    ADX_TALLY(reverse, mul, adx_is_counted(factor));
    ADX_TALLY(reverse, add, adjoint != 0);
    ADX_TALLY(reverse, written, 1);
}
#else
#define ADX_TALLY(direction, what, times) ((void)0)
#endif

/* --- finding mistakes ---------------------------------------------------- */

typedef enum ad_verdict {
    ADREV_AGREES,           // gradient and differences, within their error
    ADREV_DISAGREES,
    ADREV_KINK,             // the slopes to the left and right differ, or there
                            // is only one, or they grow without bound; and the
                            // gradient does not lie outside of them
    ADREV_NOISY,            // the error of the differences is too large
    ADREV_VERDICT_COUNT
} ad_verdict;

// One check: of the derivative with respect to one input or, if there are very
// many inputs, along a random direction in a group of them.
typedef struct ad_check_entry {
    size_t output;          // of ad_check_jac; else 0
    size_t index;           // of the input, or of the first one of the group
    size_t inputs;          // 1: this input alone, and derivatives are d/dx.
                            // More: steps are relative to the size of each x
    ad_verdict verdict;
    ad_real gradient;       // the derivative as recorded
    ad_real difference;     // the same from differences
    ad_real error;          // of the difference, estimated
    ad_real left, right;    // slopes to either side, at the last step
    ad_real mismatch;       // |gradient - difference|; 1: the most allowed
} ad_check_entry;

// Begin with zeros: ad_check_report report = {0};
typedef struct ad_check_report {
    ad_check_entry *entry;  // in [room]: is given all checks if room is n or
    size_t room;            // more (ad_check_jac: m*n, input by input), else
                            // those that do not agree
    size_t limit;           // in: most checks of the n inputs (for each
                            // output); 0: 1000
    bool filled;            // false: no check was made, or the latest failed
    size_t outputs;         // how many were checked: 1, or m
    size_t listed;          // entries that were filled
    size_t checks;
    size_t counts[ADREV_VERDICT_COUNT];     // how many of each verdict
    ad_check_entry worst;   // disagrees is worse than kink, kink than noisy; of
                            // two alike, the one with the larger mismatch
    ad_real value;          // of f at x: the output of `worst`
    ad_real forward;        // derivative along a random direction, by a forward
    ad_real reverse;        // sweep, and by the gradient; of the output with
                            // the largest gap
    ad_real gap;            // between the two; 1: the most rounding explains
    size_t evaluations;     // of f
} ad_check_report;

// Checks the gradient of f against differences, and reverse against forward.
// The differences take steps from a large part of |x| to a very small one; they
// are extrapolated, and their error is estimated. For them f is given
// constants, and nothing is recorded. If there are more inputs than `limit`,
// they are checked in groups; in a group that does not agree, one input that
// does not is searched for.
//
//   x   [n]      in    point
//   report       in    entry, room, limit
//                out   everything else; on failure only entry[] and `filled`,
//                      which is then false
//
//   returns      ADREV_OK, whatever was found (see ad_check_passed); as
//                ad_grad, but a constant y is no error: its gradient is 0
//   cost         about 12 evaluations of f for each check that agrees, up to
//                100 for any other
//   memory       on the tape: as ad_grad, and 16 bytes per input
//   see          docs/finding-mistakes.md, tests/check/finding_mistakes.c
ADX_TRY ad_status ad_check(ad_scalar_fn *f, void *ctx, size_t n,
                           const ad_real x[], ad_check_report *report);

// The same for a Jacobian: every output is checked with respect to every input,
// and each output has a reverse sweep of its own. For functions of a struct
// there is name_check of adrev_struct.h.
//
//   returns      as ad_check, and as ad_jac
//   cost         m reverse sweeps; 12 to 25 evaluations of f for each input
//                whose checks agree, as an evaluation serves all outputs
//   memory       on the tape: as ad_jac, and about 8 (m + 2) (n + 35) bytes
ADX_TRY ad_status ad_check_jac(ad_vector_fn *f, void *ctx, size_t n,
                               const ad_real x[], size_t m,
                               ad_check_report *report);

// Whether the report is filled, every check agrees, and forward agrees with
// reverse. Of NULL: false.
ADX_API bool ad_check_passed(const ad_check_report *report);

// A statement of a recording.
typedef struct ad_statement {
    ad_rev result;          // job 0: no statement. v is 0 unless file is known
    size_t operands;        // how many it has; the first ADREV_SHOWN of them:
#define ADREV_SHOWN 16
    ad_rev operand[ADREV_SHOWN];        // job 0: a constant. v is always 0
    ad_real partial[ADREV_SHOWN];
    ad_real adjoint;        // dy/dresult
    const char *file;       // NULL and 0 unless compiled with ADREV_DEBUG
    int line;
} ad_statement;

typedef struct ad_nonfinite {
    ad_statement value;     // the first one whose value is not finite, among
                            // those compiled with ADREV_DEBUG
    ad_statement partial;   // the first one with a partial that is not finite
    ad_statement adjoint;   // the last one recorded whose adjoint is not
                            // finite: a reverse sweep from y meets it first
} ad_nonfinite;

// Finds where infinities and NaNs come from. Values are not on the tape. So
// without ADREV_DEBUG a NaN shows only in the partials of statements that use
// it nonlinearly, and an infinity in those of the statement after it, or
// nowhere.
//
//   y            in    the value whose gradient is wrong; may be a constant
//   found        out   statements; job 0 where there is none
//
//   returns      ADREV_OK, whether anything was found or not; ADREV_EFOREIGN if
//                the recording has forks (see ad_tape_serial); else as
//                ad_gradient
//   cost, memory as ad_gradient, and two passes over the tape
ADX_TRY ad_status ad_find_nonfinite(ad_tape *t, ad_rev y, ad_nonfinite *found);

// A use of x in a statement, and what it contributes to dy/dx.
typedef struct ad_term {
    ad_rev result;          // of the statement; v is 0. To go on from here, ask
                            // for the terms of dy/dresult
    ad_real partial;        // dresult/dx, of this use
    ad_real adjoint;        // dy/dresult
    ad_real product;        // of the two: the term
    const char *file;       // NULL and 0 unless compiled with ADREV_DEBUG
    int line;
} ad_term;

typedef struct ad_explanation {
    ad_real derivative;     // dy/dx: the sum of the terms
    ad_real size;           // the sum of their absolute values
    ad_real condition;      // size/|derivative|; 1e8: 8 digits cancel
    size_t terms;           // how many there are
    size_t listed;          // how many of them are in term[]
} ad_explanation;

// The terms that a derivative is the sum of, the largest first.
//
//   term [room]  out   may be NULL if room is 0
//   sum          out
//
//   returns, cost, memory: as ad_gradient, and one pass over the tape;
//                ADREV_EFOREIGN if the recording has forks (see ad_tape_serial)
ADX_TRY ad_status ad_explain(ad_tape *t, ad_rev y, ad_rev x, size_t room,
                             ad_term term[], ad_explanation *sum);

// Of how many inputs the difference of x and y has a derivative, on the current
// tape: 0, 1, or 2 for more. For a program that takes a way of its own where
// two numbers are equal: with 0 they are equal nearby, too, as a copy is, and
// no derivative is lost. With 1 it is as if that input were equal to a
// constant. (The square of a difference that is 0 counts as 0.)
//
//   returns      2 also if it is not known: no tape is current, or it has
//                failed; x or y is of another recording; a function is being
//                recorded, and neither is a copy of the other; the difference
//                depends on an array statement or an external statement, on
//                too much, or on anything at all of a tape on which tasks were
//                forked
//   cost         of a copy a comparison; else a reverse sweep from the end of
//                the tape back to the last statement that the difference
//                depends on, or to its inputs, of 1 000 000 entries at most:
//                beyond, 2
//   memory       none but 1 KiB of the stack
//   see          docs/porting-tool.md, tests/check/tie.c
ADX_API int ad_tie(ad_rev x, ad_rev y);

// Give a name to what is recorded on the current tape between these two calls.
// Regions may be nested, and may be entered again. The name is not copied.
// Memory: 38 bytes of the tape for each call; 26 with float.
ADX_API void ad_region_begin(const char *name);
ADX_API void ad_region_end(const char *name);

typedef struct ad_region {
    const char *name;
    size_t entered;         // how often, not counting entries from within
    size_t statements;      // in it and in the regions within it
    size_t operands;
    size_t values;          // statements and inputs
    size_t bytes;           // of the tape, adjoints included
    size_t adx_open;
} ad_region;

// Statistics of each region, in the order in which they were first entered. A
// region that is still open is counted up to here.
//
//   region [room] out
//
//   returns      how many are written; names beyond `room` are left out
//   cost         one pass over the tape, times the number of open regions
ADX_API size_t ad_tape_regions(const ad_tape *t, size_t room,
                               ad_region region[]);

typedef void ad_write_fn(const char *text, size_t length, void *user);

// The report in words: a table of the checks that it lists, worst first and at
// most 100 of them (without a list only the worst one), and what to do about
// them.
//
//   write        called often, with short pieces of text
//
//   returns      ADREV_OK; ADREV_ESHAPE: report or write is NULL
ADX_API ad_status ad_check_print(const ad_check_report *report,
                                 ad_write_fn *write, void *user);

// The recording as text, a line for each statement:
//
//     v5 = 1 v4 + -0.5 v2 + 3 const     example.c:12, value 0.25
//
// says that the partials of v5 are 1, -0.5 and 3, the last one with respect to
// a constant. `sum v4` is a partial of 1 that takes no memory: see ad_acc.
// Numbers have 9 digits.
//
//   write        called often, with short pieces of text
//
//   returns      the status of the tape; a failed tape is written, too
ADX_API ad_status ad_dump_text(const ad_tape *t, ad_write_fn *write,
                               void *user);

// Writes the same text into memory: as much as there is room for, with a 0 at
// the end. For debuggers, which can call it (docs/debugging.md).
//
//   text [room]  out   may be NULL if room is 0
//
//   returns      the length of the whole text, without the 0
ADX_API size_t ad_dump_string(const ad_tape *t, size_t room, char text[]);

// The recording as a graph, for `dot -Tsvg`. Inputs are boxes, regions are
// clusters, and edges go from a statement to its operands.
ADX_API ad_status ad_dump_dot(const ad_tape *t, ad_write_fn *write,
                              void *user);

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

/* === number/expression ======================================================
 * What an expression is, and how it is written to the tape as one statement
 * (rec, write); unusual ones go to tape/apart.
 *
 * There is a type of expression for each number of slots, so unused slots are
 * never compiled: 100 statements take gcc 3 s instead of 41. All types have the
 * same functions, named adx_WHAT_WIDTH. These have no loops, since gcc 12 would
 * fold them and clang 14 would keep the expression in memory.
 *
 *   needs   cpp/members number/recording
 *   offers  ADX_FORWARD ADX_ACTIVE ADX_LET ADX_NAME ADX_CALL ADX_OF_WIDTH
 *           ADX_WIDTH ADX_EXPRS adx_slots_of ADX_NEW adx_leaf adx_own
 *           ADX_OVERLOAD adx_own_* adx_made ADX_TAKE ADX_TAKE_1 ADX_TAKE_2
 *           ADX_TAKE_3 ADX_TAKE_TEST ADX_AND_Y ADX_AND_Z
 * ========================================================================== */

#if ADX_FUSES

// Slots 0 to N - 1, and all pairs of them.
#define ADX_SLOTS_1(DO)  DO(0)
#define ADX_SLOTS_2(DO)  ADX_SLOTS_1(DO) DO(1)
#define ADX_SLOTS_3(DO)  ADX_SLOTS_2(DO) DO(2)
#define ADX_SLOTS_4(DO)  ADX_SLOTS_3(DO) DO(3)
#define ADX_SLOTS_5(DO)  ADX_SLOTS_4(DO) DO(4)
#define ADX_SLOTS_6(DO)  ADX_SLOTS_5(DO) DO(5)
#define ADX_SLOTS_7(DO)  ADX_SLOTS_6(DO) DO(6)
#define ADX_SLOTS_8(DO)  ADX_SLOTS_7(DO) DO(7)
#define ADX_SLOTS_9(DO)  ADX_SLOTS_8(DO) DO(8)
#define ADX_SLOTS_10(DO) ADX_SLOTS_9(DO) DO(9)
#define ADX_SLOTS_11(DO) ADX_SLOTS_10(DO) DO(10)
#define ADX_SLOTS_12(DO) ADX_SLOTS_11(DO) DO(11)

#define ADX_PAIRS_1(DO)
#define ADX_PAIRS_2(DO)  DO(0, 1)
#define ADX_PAIRS_3(DO)  ADX_PAIRS_2(DO) DO(0, 2) DO(1, 2)
#define ADX_PAIRS_4(DO)  ADX_PAIRS_3(DO) DO(0, 3) DO(1, 3) DO(2, 3)
#define ADX_PAIRS_5(DO)  ADX_PAIRS_4(DO) DO(0, 4) DO(1, 4) DO(2, 4) DO(3, 4)
#define ADX_PAIRS_6(DO)                                                     \
    ADX_PAIRS_5(DO) DO(0, 5) DO(1, 5) DO(2, 5) DO(3, 5) DO(4, 5)
#define ADX_PAIRS_7(DO)                                                     \
    ADX_PAIRS_6(DO) DO(0, 6) DO(1, 6) DO(2, 6) DO(3, 6) DO(4, 6) DO(5, 6)
#define ADX_PAIRS_8(DO)                                                     \
    ADX_PAIRS_7(DO) DO(0, 7) DO(1, 7) DO(2, 7) DO(3, 7) DO(4, 7) DO(5, 7)   \
    DO(6, 7)
#define ADX_PAIRS_9(DO)                                                     \
    ADX_PAIRS_8(DO) DO(0, 8) DO(1, 8) DO(2, 8) DO(3, 8) DO(4, 8) DO(5, 8)   \
    DO(6, 8) DO(7, 8)
#define ADX_PAIRS_10(DO)                                                    \
    ADX_PAIRS_9(DO) DO(0, 9) DO(1, 9) DO(2, 9) DO(3, 9) DO(4, 9) DO(5, 9)   \
    DO(6, 9) DO(7, 9) DO(8, 9)
#define ADX_PAIRS_11(DO)                                                    \
    ADX_PAIRS_10(DO) DO(0, 10) DO(1, 10) DO(2, 10) DO(3, 10) DO(4, 10)      \
    DO(5, 10) DO(6, 10) DO(7, 10) DO(8, 10) DO(9, 10)
#define ADX_PAIRS_12(DO)                                                    \
    ADX_PAIRS_11(DO) DO(0, 11) DO(1, 11) DO(2, 11) DO(3, 11) DO(4, 11)      \
    DO(5, 11) DO(6, 11) DO(7, 11) DO(8, 11) DO(9, 11) DO(10, 11)

// ADX_OF_WIDTH is the type of an expression with n operands, ADX_WIDTH how many
// an expression has, and ADX_CALL the function for its type. An expression of
// forward numbers counts as ADX_FORWARD operands, so a sum of widths says what
// it is made of.
#define ADX_FORWARD 16
#define ADX_ACTIVE(n) ((n) % ADX_FORWARD != 0)
#ifdef __cplusplus
#define ADX_LET auto
#define ADX_NAME(what, n) adx_##what
#define ADX_CALL(what, x) adx_##what
template <unsigned n> struct adx_of_width { typedef ad_expr_dual type; };
template <> struct adx_of_width<0> { typedef ad_expr_0 type; };
#define ADX_DEFINE(N)                                                       \
    template <> struct adx_of_width<N> { typedef ad_expr_##N type; };
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#define ADX_OF_WIDTH(n) typename adx_of_width<(n)>::type
#define ADX_WIDTH(x)    unsigned(adrev::adx_sort<decltype(x)>::width)
#else
#define ADX_LET __auto_type
#define ADX_NAME(what, n) adx_##what##_##n
#define ADX_EXPRS(what)                                                     \
    ad_expr_0: adx_##what##_0, ad_expr_1: adx_##what##_1,                   \
    ad_expr_2: adx_##what##_2, ad_expr_3: adx_##what##_3,                   \
    ad_expr_4: adx_##what##_4, ad_expr_5: adx_##what##_5,                   \
    ad_expr_6: adx_##what##_6, ad_expr_7: adx_##what##_7,                   \
    ad_expr_8: adx_##what##_8, ad_expr_9: adx_##what##_9,                   \
    ad_expr_10: adx_##what##_10, ad_expr_11: adx_##what##_11,               \
    ad_expr_12: adx_##what##_12, ad_expr_dual: adx_##what##_dual
#define ADX_CALL(what, x) _Generic((x), ADX_EXPRS(what))
#define ADX_OF_WIDTH(n)                                                     \
    __typeof__(*_Generic((char (*)[(n) + 1])0,                              \
        char (*)[1]: (ad_expr_0 *)0, char (*)[2]: (ad_expr_1 *)0,           \
        char (*)[3]: (ad_expr_2 *)0, char (*)[4]: (ad_expr_3 *)0,           \
        char (*)[5]: (ad_expr_4 *)0, char (*)[6]: (ad_expr_5 *)0,           \
        char (*)[7]: (ad_expr_6 *)0, char (*)[8]: (ad_expr_7 *)0,           \
        char (*)[9]: (ad_expr_8 *)0, char (*)[10]: (ad_expr_9 *)0,          \
        char (*)[11]: (ad_expr_10 *)0, char (*)[12]: (ad_expr_11 *)0,       \
        char (*)[13]: (ad_expr_12 *)0, default: (ad_expr_dual *)0))
#define ADX_WIDTH(x)                                                        \
    _Generic((x), ad_expr_0: 0, ad_expr_dual: ADX_FORWARD,                  \
             default: sizeof(x) / sizeof(adx_slot) - 1)
#endif

// What adx_slots_of and ADX_WIDTH take for granted.
#define ADX_DEFINE(N)                                                       \
    ADX_STATIC_ASSERT(                                                      \
        offsetof(ad_expr_##N, slot) == offsetof(ad_expr_1, slot)            \
            && sizeof(ad_expr_##N) / sizeof(adx_slot) == (N) + 1,           \
        "one layout of all expressions");
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE

// The slots behind a head.
ADX_INLINE adx_slot *adx_slots_of(adx_head *e)
{
    return (adx_slot *)((char *)e + offsetof(ad_expr_1, slot));
}

// Sets the head of a new expression. Its slots are still to be set.
#define ADX_NEW(r, value)                                                   \
    (r).head.v = (value);                                                   \
    (r).head.zero = 0;                                                      \
    (r).head.risky = 0;                                                     \
    (r).head.leaf = 0;

ADX_INLINE ad_expr_0 adx_constant(ad_real v)
{
    ad_expr_0 e;
    ADX_NEW(e, v)
    return e;
}

// What follows is made for each width. scale appends an operand to an
// expression: the slots of r from `at` on become those of a times f. If
// `split`, a is recorded first, and has one slot then.
//
// The products here do not obey the rule that a factor of zero gives zero
// (adx_times). But where that rule and IEEE differ, the product is NaN. So the
// one test that a statement makes (adx_fits_N) also looks for a NaN, and only
// in the cold branch is it asked which slots have a factor of exactly zero,
// which is why compilers compute the bits `zero` there only. (Instead of a test
// in each operator: 0.95 of a statement.)
#define ADX_DO(i)                                                           \
    s[i].d = f * a->slot[i].d;                                              \
    s[i].id = a->slot[i].id;                                                \
    ADX_TALLY(reverse, mul,                                                 \
              adx_is_counted(f) && adx_is_counted(a->slot[i].d));
#define ADX_DEFINE(N)                                                       \
    ADX_APART uint64_t ADX_NAME(split, N)(const ad_expr_##N *a);            \
    ADX_INLINE void ADX_NAME(scale, N)(adx_head *r, unsigned at,            \
                                       const ad_expr_##N *a, ad_real f,     \
                                       bool split)                          \
    {                                                                       \
        adx_slot *s = adx_slots_of(r) + at;                                 \
        unsigned nil = 0u - adx_is_zero(f);                                 \
        if (split) {                                                        \
            const ad_expr_##N copy = *a;    /* its address may be taken */  \
            s->d = f;                                                       \
            s->id = ADX_NAME(split, N)(&copy);                              \
            r->zero |= (nil & 1) << at;                                     \
            return;                                                         \
        }                                                                   \
        ADX_SLOTS_##N(ADX_DO)                                               \
        r->zero |= (a->head.zero | (nil & ((1u << (N)) - 1))) << at;        \
        r->risky |= a->head.risky | !(a->head.leaf | adx_proper(f));        \
    }
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_DO

ADX_INLINE void ADX_NAME(scale, 0)(adx_head *r, unsigned at,
                                   const ad_expr_0 *a, ad_real f, bool split)
{
    (void)r; (void)at; (void)a; (void)f; (void)split;
}

ADX_INLINE void ADX_NAME(scale, dual)(adx_head *r, unsigned at,
                                      const ad_expr_dual *a, ad_real f,
                                      bool split)
{
    ad_real *d = &((ad_expr_dual *)r)->d;
    ad_real p = adx_times(f, a->d);
    (void)split;
    *d = at < ADX_FORWARD ? p : *d + p;
}

/* --- operands ---------------------------------------------------------------
 * Any operand becomes an expression, once. A type that is not listed (a
 * pointer, _Float16, a complex number) does not compile.                     */

ADX_INLINE ad_expr_1 adx_leaf(ad_rev x)
{
    ad_expr_1 e;
    ADX_NEW(e, x.v)
    e.head.leaf = 1;
    e.slot[0].d = 1;
    e.slot[0].id = adx_compound(x.job, x.seq);
    return e;
}

ADX_INLINE ad_expr_dual adx_from_fwd(ad_fwd x)
{
    ad_expr_dual e;
    ADX_NEW(e, x.v)
    e.d = x.d;
    return e;
}

#ifdef __cplusplus
// One template: of many functions the compiler would try each, with all that an
// operand may be converted to.
template <class Any> struct adx_owner
{
    typedef ad_expr_0 type;
    static ADX_MEMBER type own(Any v)
    {
        return adx_constant(static_cast<ad_real>(v));
    }
};
#define ADX_DEFINE(operand, expr, owned)                                    \
    template <> struct adx_owner<operand>                                   \
    {                                                                       \
        typedef expr type;                                                  \
        static ADX_MEMBER type own(const operand &e) { return owned(e); }   \
    };
#define ADX_DEFINE_EXPR(N) ADX_DEFINE(ad_expr_##N, ad_expr_##N, )
ADX_WIDTHS(ADX_DEFINE_EXPR)
ADX_DEFINE_EXPR(0)
ADX_DEFINE_EXPR(dual)
ADX_DEFINE(ad_rev, ad_expr_1, adx_leaf)
ADX_DEFINE(ad_fwd, ad_expr_dual, adx_from_fwd)
#undef ADX_DEFINE_EXPR
#undef ADX_DEFINE
template <class Any>
ADX_INLINE typename adx_owner<Any>::type adx_own(const Any &x)
{
    return adx_owner<Any>::own(x);
}
#elif defined __clang__
#define ADX_OVERLOAD ADX_INLINE ADX_CHECKED __attribute__((overloadable))
#define ADX_DEFINE(N)                                                       \
    ADX_OVERLOAD ad_expr_##N adx_own(ad_expr_##N e) { return e; }           \
    ADX_OVERLOAD ad_expr_##N adx_made(ad_expr_##N e) { return e; }
ADX_WIDTHS(ADX_DEFINE)
ADX_DEFINE(0)
ADX_DEFINE(dual)
#undef ADX_DEFINE
#define ADX_DEFINE(type)                                                    \
    ADX_OVERLOAD ad_expr_0 adx_own(type v)                                  \
        { return adx_constant((ad_real)v); }
ADX_ARITHMETIC(ADX_DEFINE)
#undef ADX_DEFINE
ADX_OVERLOAD ad_expr_1 adx_own(ad_rev x) { return adx_leaf(x); }
ADX_OVERLOAD ad_expr_dual adx_own(ad_fwd x) { return adx_from_fwd(x); }
ad_expr_0 adx_own(const void *x) __attribute__((
    overloadable, error("a pointer is no number: x[0] or *x")));
#else
#define ADX_DEFINE(N)                                                       \
    ADX_INLINE ad_expr_##N adx_own_##N(ad_expr_##N e) { return e; }
ADX_WIDTHS(ADX_DEFINE)
ADX_DEFINE(0)
ADX_DEFINE(dual)
#undef ADX_DEFINE
#define ADX_DEFINE(name, type)                                              \
    ADX_INLINE ad_expr_0 adx_own_##name(type v)                             \
        { return adx_constant((ad_real)v); }
ADX_OWN_TYPES(ADX_DEFINE)
#undef ADX_DEFINE
#define adx_own(x)                                                          \
    _Generic((x), ad_rev: adx_leaf, ad_fwd: adx_from_fwd, ADX_EXPRS(own),   \
             ADX_NUMBERS(adx_own))(x)
#endif

// What an operator returns: clang warns if nobody uses it.
#if !defined __clang__ || defined __cplusplus
#define adx_made(e) e
#endif

// How an operator begins and goes on; how it ends is in number/operators. The
// operands stand in between, in the macro that the user calls: each further
// macro that passed them on would be three more lines in clang's messages about
// a mistake in them. Their names hide those of the operators around on purpose.
#define ADX_TAKE                                                            \
    __extension__({                                                         \
        ADX_QUIET                                                           \
        ADX_NOTE_PLACE                                                      \
        ADX_LET adx_x_ =
#define ADX_TAKE_1 ADX_TAKE
#define ADX_TAKE_2 ADX_TAKE
#define ADX_TAKE_3 ADX_TAKE
#define ADX_TAKE_TEST ADX_TAKE
#define ADX_AND_Y ; ADX_LET adx_y_ =
#define ADX_AND_Z ; ADX_LET adx_z_ =

/* --- one statement ------------------------------------------------------- */

// Whether two slots are the same variable, as far as the compiler can see,
// since both were read from the same place. This is never true by chance at run
// time.
#define ADX_SAME(a, b)                                                      \
    ((ADX_KNOWN((a).id == (b).id) != 0) & ((a).id == (b).id))

// A partial of 1 on the value just before, as in s = s + x*y, is stored as a
// flag. That saves 12 bytes, and in the sweep the adjoint of the sum stays in a
// register. The question is asked of a slot as it was before others were added
// to it: then gcc does not yet know that none are.
ADX_INLINE bool adx_may_sum(unsigned n, ad_real d)
{
    return (n > 1) & (ADX_KNOWN(d) != 0) & (d == 1);
}

// How a statement is recorded: `rec` asks whether it is an ordinary one, and
// then writes it, or leaves it to tape/apart. For each width there is
//
// here   whether all operands are of this job
// known  whether all operands are of this job or constants, and not all of them
//        constants. (The id of a constant is 0, which must be the sink.) This
//        asks in other words than `here`: otherwise compilers would keep what
//        `here` has computed, and burgers and gmm take 5 to 10 % longer
// fits   whether there is room, no partial is NaN, and nobody wants to look at
//        the statement
// into   4 bits for each slot: 0, or 1 + the slot to which it is added. This is
//        decided once, for both ways to record
// write  writes the statement. A variable that occurs several times, as in
//        w - a*w or sin(x)*exp(x), needs one operand: its later slots are added
//        to the first one and left out. (burgers: 7 operands a statement
//        instead of 12.)
// apart  has tape/apart record it, which merges the same slots
// rec    records the statement, in one way or the other
// split  records an operand that has no room in the expression around it, and
//        returns its id
#define ADX_INTO(k)      (into >> 4 * (k) & 15)
#define ADX_OUT(i)       (ADX_INTO(i) != 0)
#define ADX_LEAVE_OUT(i, k)                                                 \
    into |= (uint64_t)(ADX_SAME(e->slot[i], e->slot[k]) & !ADX_OUT(i)       \
                       & !ADX_OUT(k)) * ((i) + 1) << 4 * (k);
#define ADX_OTHER_JOB(i) other |= e->slot[i].id ^ here;
#define ADX_OTHER_VARIABLE(i)                                               \
    other |= ((e->slot[i].id >> 32) ^ job)                                  \
           & (0 - (uint64_t)(e->slot[i].id != 0));                          \
    any |= e->slot[i].id;
#define ADX_BESIDE(i)                                                       \
    ((i) + 1 < sizeof e->slot / sizeof *e->slot ? (i) + 1 : (i))
#define ADX_ADD_UP(i)                                                       \
    lost |= (i) % 2 == 0                                                    \
         && ADX_UNORDERED(e->slot[i].d, e->slot[ADX_BESIDE(i)].d);
#define ADX_LOCAL(i)     ad_real d##i = e->slot[i].d;
#define ADX_MERGE(i, k)                                                     \
    if (ADX_INTO(k) == (i) + 1)                                             \
        d##i += d##k;
#define ADX_COUNT_IN(i)  n += !ADX_OUT(i);
#define ADX_PUT(i)                                                          \
    if (!ADX_OUT(i) && !((i) == 0 && sum))                                  \
        op = adx_put(op, d##i, e->slot[i].id);
#define ADX_COPY(i)                                                         \
    slot[i].d = e->slot[i].d;                                               \
    slot[i].id = e->slot[i].id;
#define ADX_DEFINE(N)                                                       \
    ADX_INLINE bool ADX_NAME(here, N)(const ad_expr_##N *e)                 \
    {                                                                       \
        uint64_t here = adx_compound(adx_now.job, 0);                       \
        uint64_t other = 0;                                                 \
        ADX_SLOTS_##N(ADX_OTHER_JOB)                                        \
        return other >> 32 == 0;                                            \
    }                                                                       \
    ADX_INLINE bool ADX_NAME(known, N)(const ad_expr_##N *e)                \
    {                                                                       \
        const uint64_t job = adx_now.job;                                   \
        uint64_t other = 0;                                                 \
        uint64_t any = 0;                                                   \
        ADX_SLOTS_##N(ADX_OTHER_VARIABLE)                                   \
        return (other == 0) & (any >> 32 != 0) & (ADX_SINK == 0);           \
    }                                                                       \
    ADX_INLINE bool ADX_NAME(fits, N)(const ad_expr_##N *e)                 \
    {                                                                       \
        bool lost = false;                                                  \
        if (e->head.risky) {                                                \
            ADX_SLOTS_##N(ADX_ADD_UP)                                       \
        }                                                                   \
        return !lost & !ADX_LOOK                                            \
             & adx_room(sizeof(uint16_t) + (N) * sizeof(adx_operand));      \
    }                                                                       \
    ADX_INLINE uint64_t ADX_NAME(into, N)(const ad_expr_##N *e)             \
    {                                                                       \
        uint64_t into = 0;                                                  \
        ADX_PAIRS_##N(ADX_LEAVE_OUT)                                        \
        (void)e;                                                            \
        return into;                                                        \
    }                                                                       \
    ADX_INLINE ADX_CHECKED ad_rev ADX_NAME(write, N)(const ad_expr_##N *e,  \
                                                     uint64_t into)         \
    {                                                                       \
        adx_operand *op = adx_now.op;                                       \
        unsigned n = 0;                                                     \
        if ((N) == 1 && e->head.leaf)                                       \
            return adx_numbered(e->head.v, e->slot[0].id);                  \
        ADX_SLOTS_##N(ADX_LOCAL)                                            \
        ADX_PAIRS_##N(ADX_MERGE)                                            \
        ADX_SLOTS_##N(ADX_COUNT_IN)                                         \
        const size_t last = adx_now.seq;                                    \
        bool sum = adx_may_sum(n, e->slot[0].d) & (d0 == 1)                 \
                 & ((uint32_t)e->slot[0].id == last);                       \
        ADX_FETCH((uintptr_t)op + ADX_FAR);                                 \
        ADX_SLOTS_##N(ADX_PUT)                                              \
        return adx_commit(e->head.v, op, sum ? ADX_SUM | (n - 1) : n);      \
    }                                                                       \
    ADX_INLINE ADX_CHECKED ad_rev ADX_NAME(apart, N)(const ad_expr_##N *e,  \
                                                     uint64_t into)         \
    {                                                                       \
        adx_slot slot[N];                                                   \
        unsigned how = ADX_HOW | (e->head.leaf ? ADX_LEAF : 0)              \
                     | (adx_may_sum(N, e->slot[0].d) ? ADX_SUM : 0);        \
        ADX_SLOTS_##N(ADX_COPY)                                             \
        return adx_record_apart(e->head.v, how | (N), slot, e->head.zero,   \
                                into);                                      \
    }                                                                       \
    ADX_INLINE ADX_CHECKED ad_rev ADX_NAME(rec, N)(ad_expr_##N e)           \
    {                                                                       \
        uint64_t into = ADX_NAME(into, N)(&e);                              \
        if (ADX_LIKELY((ADX_NAME(here, N)(&e)                               \
                        || (!ADREV_FIXED && ADX_NAME(known, N)(&e)))        \
                       && ADX_NAME(fits, N)(&e)))                           \
            return ADX_NAME(write, N)(&e, into);                            \
        return ADX_NAME(apart, N)(&e, into);                                \
    }                                                                       \
    ADX_APART uint64_t ADX_NAME(split, N)(const ad_expr_##N *e)             \
    {                                                                       \
        ad_rev y = ADX_NAME(rec, N)(*e);                                    \
        return adx_word(&y);                                                \
    }
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_INTO
#undef ADX_OUT
#undef ADX_LEAVE_OUT
#undef ADX_OTHER_JOB
#undef ADX_OTHER_VARIABLE
#undef ADX_BESIDE
#undef ADX_ADD_UP
#undef ADX_LOCAL
#undef ADX_MERGE
#undef ADX_COUNT_IN
#undef ADX_PUT
#undef ADX_COPY

// Constants are not recorded, and forward numbers become an ad_fwd.
ADX_INLINE ADX_CHECKED ad_rev ADX_NAME(rec, 0)(ad_expr_0 e)
{
    return adx_passive(e.head.v);
}

ADX_INLINE ADX_CHECKED ad_fwd ADX_NAME(rec, dual)(ad_expr_dual e)
{
    ad_fwd y;
    y.v = e.head.v;
    y.d = e.d;
    return y;
}

#endif // ADX_FUSES

/* === number/operators =======================================================
 * Operators on expressions: the slots of an operand are scaled by its partial
 * and appended. Then the ways out of a recording: ad_value, ad_detach, ad_dual,
 * ad_rec.
 *
 *
 *   needs   number/recording number/expression
 *   offers  ADX_SPLIT_X ADX_SPLIT_Y ADX_LEFT ADX_MAKE_1 ADX_MAKE_2 ADX_MAKE_3
 *           ADX_TAKE_CHOICE ADX_MAKE_CHOICE ADX_MAKE_STEP ADX_MAKE_TEST
 *           ADX_TAKE_MODF ADX_TAKE_FREXP ADX_AND_WHOLE ADX_AND_EXPONENT
 * ========================================================================== */

/* --- operators ----------------------------------------------------------- */

#if ADX_FUSES

// If two operands with nx and ny slots have no room in one statement, the
// larger is recorded first, and if there is still no room, the other one, too.
#define ADX_TOO_WIDE(nx, ny)                                                \
    ((nx) + (ny) > ADREV_FUSE && (nx) < ADX_FORWARD && (ny) < ADX_FORWARD)
#define ADX_SPLIT_X(nx, ny)                                                 \
    (ADX_TOO_WIDE(nx, ny) && ((nx) >= (ny) || 1 + (nx) > ADREV_FUSE))
#define ADX_SPLIT_Y(nx, ny)                                                 \
    (ADX_TOO_WIDE(nx, ny) && ((nx) < (ny) || 1 + (ny) > ADREV_FUSE))

// How many slots an operand has in the result: one, if it is recorded first.
#define ADX_LEFT(n, split) ((split) ? 1 : (n))

// Whether there is an ad_fwd and an ad_rev in one expression, which is refused:
// one would be a constant for the other, and nobody would see that it is not
// differentiated.
#define ADX_MIXED(nx, ny)                                                   \
    ((nx) / ADX_FORWARD * ((ny) % ADX_FORWARD) != 0                         \
     || (ny) / ADX_FORWARD * ((nx) % ADX_FORWARD) != 0)
#define ADX_UNMIXED                                                         \
    ADX_STATIC_ASSERT(!adx_mixed, "an ad_fwd and an ad_rev in one "         \
                      "expression: take ad_value of one of them")

#define ADX_SCALE(r, at, x, f, split)                                       \
    ADX_CALL(scale, x)(&(r).head, at, &(x), f, split);

#if ADREV_COUNT
#define ADX_COUNT_OP(name, active) adx_count_op(ADREV_OP_##name, active);
#else
#define ADX_COUNT_OP(name, active)
#endif

// The rest of an operator of one argument: its value, its partial, and the
// slots of the argument times the partial. The partial of a plain number is not
// computed.
#define ADX_MAKE_1(name)                                                    \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LOUD                                                            \
        enum { adx_n = ADX_WIDTH(adx_x) };                                  \
        ADX_OF_WIDTH(adx_n) adx_r;                                          \
        ADX_NEW(adx_r, adx_f_##name(adx_x.head.v, 0, 0))                    \
        const ad_real adx_fx = adx_n == 0 ? 0                               \
            : adx_fx_##name(adx_x.head.v, 0, 0, adx_r.head.v);              \
        ADX_SCALE(adx_r, 0, adx_x, adx_fx, false)                           \
        ADX_COUNT_OP(name, ADX_ACTIVE(adx_n))                               \
        ADX_WATCH(adx_r, adx_traced_1(ADREV_OP_##name, adx_r.head.v,        \
                                      ADX_NODE(adx_x), adx_fx))             \
        adx_made(adx_r);                                                    \
    })

// With two arguments, either may have to be recorded first. Where the slots of
// each begin in the result, and its width, are constants.
#define ADX_MAKE_2(name)                                                    \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LET adx_y = adx_own(adx_y_);                                    \
        ADX_LOUD                                                            \
        enum {                                                              \
            adx_nx = ADX_WIDTH(adx_x), adx_ny = ADX_WIDTH(adx_y),           \
            adx_sx = ADX_SPLIT_X(adx_nx, adx_ny),                           \
            adx_sy = ADX_SPLIT_Y(adx_nx, adx_ny),                           \
            adx_iy = ADX_LEFT(adx_nx, adx_sx),                              \
            adx_n = adx_iy + ADX_LEFT(adx_ny, adx_sy),                      \
            adx_mixed = ADX_MIXED(adx_nx, adx_ny)                           \
        };                                                                  \
        ADX_UNMIXED;                                                        \
        ADX_OF_WIDTH(adx_n) adx_r;                                          \
        ADX_NEW(adx_r, adx_f_##name(adx_x.head.v, adx_y.head.v, 0))         \
        const ad_real adx_fx = adx_nx == 0 ? 0                              \
            : adx_fx_##name(adx_x.head.v, adx_y.head.v, 0, adx_r.head.v);   \
        const ad_real adx_fy = adx_ny == 0 ? 0                              \
            : adx_fy_##name(adx_x.head.v, adx_y.head.v, 0, adx_r.head.v);   \
        ADX_SCALE(adx_r, 0, adx_x, adx_fx, adx_sx)                          \
        ADX_SCALE(adx_r, adx_iy, adx_y, adx_fy, adx_sy)                     \
        ADX_COUNT_OP(name, ADX_ACTIVE(adx_nx)                               \
                           + ADX_ACTIVE(adx_ny))                            \
        ADX_WATCH(adx_r, adx_traced_2(ADREV_OP_##name, adx_r.head.v,        \
                                      ADX_NODE(adx_x), adx_fx,              \
                                      ADX_NODE(adx_y), adx_fy))             \
        adx_made(adx_r);                                                    \
    })

// With three arguments it is simpler: if there is no room for all, each that
// has more than one slot is recorded first.
#define ADX_MAKE_3(name)                                                    \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LET adx_y = adx_own(adx_y_);                                    \
        ADX_LET adx_z = adx_own(adx_z_);                                    \
        ADX_LOUD                                                            \
        enum {                                                              \
            adx_nx = ADX_WIDTH(adx_x), adx_ny = ADX_WIDTH(adx_y),           \
            adx_nz = ADX_WIDTH(adx_z), adx_all = adx_nx + adx_ny + adx_nz,  \
            adx_wide = adx_all > ADREV_FUSE && adx_nx < ADX_FORWARD         \
                    && adx_ny < ADX_FORWARD && adx_nz < ADX_FORWARD,        \
            adx_sx = adx_wide && adx_nx > 1,                                \
            adx_sy = adx_wide && adx_ny > 1,                                \
            adx_sz = adx_wide && adx_nz > 1,                                \
            adx_iy = ADX_LEFT(adx_nx, adx_sx),                              \
            adx_iz = adx_iy + ADX_LEFT(adx_ny, adx_sy),                     \
            adx_n = adx_iz + ADX_LEFT(adx_nz, adx_sz),                      \
            adx_mixed = ADX_MIXED(adx_nx, adx_ny)                           \
                     || ADX_MIXED(adx_nx, adx_nz)                           \
                     || ADX_MIXED(adx_ny, adx_nz)                           \
        };                                                                  \
        ADX_UNMIXED;                                                        \
        ADX_OF_WIDTH(adx_n) adx_r;                                          \
        const ad_real adx_u = adx_x.head.v;                                 \
        const ad_real adx_v = adx_y.head.v;                                 \
        const ad_real adx_w = adx_z.head.v;                                 \
        ADX_NEW(adx_r, adx_f_##name(adx_u, adx_v, adx_w))                   \
        const ad_real adx_fx = adx_nx == 0 ? 0                              \
            : adx_fx_##name(adx_u, adx_v, adx_w, adx_r.head.v);             \
        const ad_real adx_fy = adx_ny == 0 ? 0                              \
            : adx_fy_##name(adx_u, adx_v, adx_w, adx_r.head.v);             \
        const ad_real adx_fz = adx_nz == 0 ? 0                              \
            : adx_fz_##name(adx_u, adx_v, adx_w, adx_r.head.v);             \
        ADX_SCALE(adx_r, 0, adx_x, adx_fx, adx_sx)                          \
        ADX_SCALE(adx_r, adx_iy, adx_y, adx_fy, adx_sy)                     \
        ADX_SCALE(adx_r, adx_iz, adx_z, adx_fz, adx_sz)                     \
        ADX_COUNT_OP(name, ADX_ACTIVE(adx_nx)                               \
                           + ADX_ACTIVE(adx_ny)                             \
                           + ADX_ACTIVE(adx_nz))                            \
        ADX_WATCH(adx_r, adx_traced(ADREV_OP_##name, adx_r.head.v,          \
                                    ADX_NODE(adx_x), adx_fx,                \
                                    ADX_NODE(adx_y), adx_fy,                \
                                    ADX_NODE(adx_z), adx_fz))               \
        adx_made(adx_r);                                                    \
    })

// While operations are traced, each is recorded by itself, so an expression is
// one recorded value. It keeps its type, with empty slots: `watch` puts the
// value in the first one, and `node` reads it there.
#define ADX_EMPTY(i)                                                        \
    r->slot[i].d = 0;                                                       \
    r->slot[i].id = 0;
#define ADX_OTHERS(i) others |= (i) == 0 ? 0 : e->slot[i].id;
#define ADX_DEFINE(N)                                                       \
    ADX_INLINE void ADX_NAME(watch, N)(ad_expr_##N *r, ad_rev y)            \
    {                                                                       \
        r->head.zero = 0;                                                   \
        r->head.risky = 0;                                                  \
        ADX_SLOTS_##N(ADX_EMPTY)                                            \
        r->slot[0].d = 1;                                                   \
        r->slot[0].id = adx_word(&y);                                       \
    }                                                                       \
    ADX_INLINE ad_rev ADX_NAME(node, N)(const ad_expr_##N *e)               \
    {                                                                       \
        uint64_t others = 0;                                                \
        ADX_SLOTS_##N(ADX_OTHERS)                                           \
        if (others != 0 || e->slot[0].d != 1)                               \
            adx_refuse();                                                   \
        return adx_numbered(e->head.v, e->slot[0].id);                      \
    }
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_EMPTY
#undef ADX_OTHERS

ADX_INLINE void ADX_NAME(watch, 0)(ad_expr_0 *r, ad_rev y) { (void)r; (void)y; }
ADX_INLINE void ADX_NAME(watch, dual)(ad_expr_dual *r, ad_rev y)
{
    (void)r;
    (void)y;
}
ADX_INLINE ad_rev ADX_NAME(node, 0)(const ad_expr_0 *e)
{
    return adx_passive(e->head.v);
}
ADX_INLINE ad_rev ADX_NAME(node, dual)(const ad_expr_dual *e)
{
    return adx_passive(e->head.v);
}

#define ADX_NODE(x) ADX_CALL(node, x)(&(x))
#if ADREV_TRACE
#define ADX_WATCH(r, told)                                                  \
    if (ADX_ACTIVE(adx_n) && ADX_UNLIKELY(ADX_TRACED))                      \
        ADX_CALL(watch, r)(&(r), told);
#define ADX_OBSERVE(code, v, x, y)                                          \
    if (ADX_ACTIVE(ADX_WIDTH(x) + ADX_WIDTH(y))                             \
        && ADX_UNLIKELY(ADX_TRACED))                                        \
        adx_observed(code, v, ADX_NODE(x), ADX_NODE(y));
#else
#define ADX_WATCH(r, told)
#define ADX_OBSERVE(code, v, x, y)
#endif

// ad_select copies the slots of the side that is taken, so the other side
// leaves neither an operand nor a NaN behind.
#define ADX_CHOOSE(i)                                                       \
    r->slot[i].d = c ? (i) < nx ? sx[i].d : 0 : (i) < ny ? sy[i].d : 0;     \
    r->slot[i].id = c ? (i) < nx ? sx[i].id : 0 : (i) < ny ? sy[i].id : 0;
#define ADX_DEFINE(N)                                                       \
    ADX_INLINE void ADX_NAME(choose, N)(ad_expr_##N *r, bool c,             \
                                        adx_head *x, unsigned nx,           \
                                        adx_head *y, unsigned ny)           \
    {                                                                       \
        const adx_slot *sx = adx_slots_of(x);                               \
        const adx_slot *sy = adx_slots_of(y);                               \
        r->head.zero = c ? x->zero : y->zero;                               \
        r->head.risky = x->risky | y->risky;                                \
        r->head.leaf = x->leaf & y->leaf;                                   \
        ADX_SLOTS_##N(ADX_CHOOSE)                                           \
    }
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_CHOOSE
ADX_INLINE void ADX_NAME(choose, 0)(ad_expr_0 *r, bool c, adx_head *x,
                                    unsigned nx, adx_head *y, unsigned ny)
{
    (void)r; (void)c; (void)x; (void)nx; (void)y; (void)ny;
}
ADX_INLINE void ADX_NAME(choose, dual)(ad_expr_dual *r, bool c, adx_head *x,
                                       unsigned nx, adx_head *y, unsigned ny)
{
    ad_real dx = nx == 0 ? 0 : ((ad_expr_dual *)x)->d;
    ad_real dy = ny == 0 ? 0 : ((ad_expr_dual *)y)->d;
    r->d = c ? dx : dy;
}

#define ADX_TAKE_CHOICE ADX_TAKE !!
#define ADX_MAKE_CHOICE                                                     \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_y_);                                    \
        ADX_LET adx_y = adx_own(adx_z_);                                    \
        const bool adx_c = adx_x_;                                          \
        ADX_LOUD                                                            \
        enum {                                                              \
            adx_nx = ADX_WIDTH(adx_x), adx_ny = ADX_WIDTH(adx_y),           \
            adx_n = adx_nx > adx_ny ? adx_nx : adx_ny,                      \
            adx_mixed = ADX_MIXED(adx_nx, adx_ny)                           \
        };                                                                  \
        ADX_UNMIXED;                                                        \
        ADX_OF_WIDTH(adx_n) adx_r;                                          \
        ADX_NEW(adx_r, adx_f_select(adx_c, adx_x.head.v, adx_y.head.v))     \
        ADX_CALL(choose, adx_r)(&adx_r, adx_c, &adx_x.head, adx_nx,         \
                                &adx_y.head, adx_ny);                       \
        ADX_COUNT_OP(select, ADX_ACTIVE(adx_nx)                             \
                             + ADX_ACTIVE(adx_ny))                          \
        ADX_WATCH(adx_r, adx_traced(ADREV_OP_select, adx_r.head.v,          \
                                    adx_passive(adx_c), 0,                  \
                                    ADX_NODE(adx_x), adx_c,                 \
                                    ADX_NODE(adx_y), !adx_c))               \
        adx_made(adx_r);                                                    \
    })

// A step function makes a constant; but of a forward number it makes a forward
// number.
#define ADX_MAKE_STEP(name)                                                 \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LOUD                                                            \
        enum { adx_nx = ADX_WIDTH(adx_x) / ADX_FORWARD * ADX_FORWARD };     \
        ADX_OF_WIDTH(adx_nx) adx_r;                                         \
        ADX_NEW(adx_r, adx_f_##name(adx_x.head.v))                          \
        ADX_CALL(choose, adx_r)(&adx_r, false, &adx_x.head, 0,              \
                                &adx_x.head, 0);                            \
        ADX_OBSERVE(ADREV_OP_##name, adx_r.head.v, adx_x, adx_x)            \
        adx_made(adx_r);                                                    \
    })

// A comparison is told to the hook, but recorded nowhere.
#define ADX_MAKE_TEST(name)                                                 \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LET adx_y = adx_own(adx_y_);                                    \
        ADX_LOUD                                                            \
        const bool adx_true = adx_f_##name(adx_x.head.v, adx_y.head.v);     \
        ADX_OBSERVE(ADREV_OP_##name, adx_true, adx_x, adx_y)                \
        adx_true;                                                           \
    })

/* --- leaving the recording ----------------------------------------------- */

#define ADX_DEFINE(N)                                                       \
    ADX_INLINE ad_real ADX_NAME(plain, N)(ad_expr_##N e)                    \
    {                                                                       \
        if (ADREV_TRACE && ADX_UNLIKELY(ADX_TRACED))                        \
            return adx_plain_rev(ADX_NAME(node, N)(&e));                    \
        return e.head.v;                                                    \
    }                                                                       \
    ADX_INLINE ad_rev ADX_NAME(detach, N)(ad_expr_##N e)                    \
    {                                                                       \
        if (ADREV_TRACE && ADX_UNLIKELY(ADX_TRACED))                        \
            return adx_detach_rev(ADX_NAME(node, N)(&e));                   \
        return adx_passive(e.head.v);                                       \
    }                                                                       \
    ADX_INLINE ad_fwd ADX_NAME(tangent, N)(ad_expr_##N e)                   \
    {                                                                       \
        ad_fwd y = ADX_ZERO;                                                \
        y.v = ADX_NAME(plain, N)(e);                                        \
        return y;                                                           \
    }                                                                       \
    ADX_INLINE bool ADX_NAME(last, N)(const ad_expr_##N *e)                 \
    {                                                                       \
        return (N) == 1 && e->head.leaf                                     \
            && e->slot[0].id == adx_compound(adx_now.job, adx_now.seq);     \
    }
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE

ADX_INLINE ad_real ADX_NAME(plain, 0)(ad_expr_0 e) { return e.head.v; }
ADX_INLINE ad_expr_0 ADX_NAME(detach, 0)(ad_expr_0 e) { return e; }
ADX_INLINE ad_fwd ADX_NAME(tangent, 0)(ad_expr_0 e)
{
    ad_fwd y = ADX_ZERO;
    y.v = e.head.v;
    return y;
}
ADX_INLINE bool ADX_NAME(last, 0)(const ad_expr_0 *e) { (void)e; return false; }

ADX_INLINE ad_real ADX_NAME(plain, dual)(ad_expr_dual e) { return e.head.v; }
ADX_INLINE ad_expr_dual ADX_NAME(detach, dual)(ad_expr_dual e)
{
    e.d = 0;
    return e;
}
ADX_INLINE ad_fwd ADX_NAME(tangent, dual)(ad_expr_dual e)
{
    return ADX_NAME(rec, dual)(e);
}
ADX_INLINE bool ADX_NAME(last, dual)(const ad_expr_dual *e)
{
    (void)e;
    return false;
}

#define ADX_MAKE_DUAL                                                       \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LOUD                                                            \
        ADX_CALL(tangent, adx_x)(adx_x);                                    \
    })

#define ADX_MAKE_EXPR                                                       \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LOUD                                                            \
        adx_x;                                                              \
    })

#define ADX_MAKE_REC                                                        \
        ;                                                                   \
        ADX_NOTE_PLACE      /* again: an operand may have recorded */       \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LOUD                                                            \
        enum { adx_mixed = ADX_WIDTH(adx_x) >= ADX_FORWARD };               \
        ADX_STATIC_ASSERT(!adx_mixed, "an ad_fwd is not recorded: ad_dual " \
                          "evaluates it");                                  \
        ADX_CALL(rec, adx_x)(adx_x);                                        \
    })

// The number in which ad_acc keeps a sum. As a parameter it is const, so that
// clang notices if nobody has set it.
ADX_INLINE ad_rev *adx_sum_rev(const ad_rev *s)
{
    return (ad_rev *)(uintptr_t)s;
}

ADX_INLINE ad_fwd *adx_sum_fwd(const ad_fwd *s)
{
    return (ad_fwd *)(uintptr_t)s;
}

#ifdef __cplusplus
ADX_INLINE ad_rev *adx_accumulator(ad_rev *s) { return s; }
ADX_INLINE ad_fwd *adx_accumulator(ad_fwd *s) { return s; }
#else
#define adx_accumulator(s)                                                  \
    _Generic((s), ad_rev *: adx_sum_rev, ad_fwd *: adx_sum_fwd)(s)
#endif

// In the sum that ad_acc makes, a variable that was recorded last comes first:
// then it needs no operand (adx_may_sum), and in the sweep its adjoint is not
// written and read again. (bench: loop, 0.93.)
#define ADX_MAKE_SUM                                                        \
        ;                                                                   \
        ADX_LET adx_s = adx_x_;                                             \
        ADX_NOTE_PLACE                                                      \
        ADX_LET adx_t = adx_own(adx_y_);                                    \
        if (ADX_WIDTH(adx_t) == 1 && ADX_CALL(last, adx_t)(&adx_t)) {       \
            ADX_LET adx_r =                                                 \
                ADX_TAKE (adx_t) ADX_AND_Y (*adx_s) ADX_MAKE_2(add);        \
            *adx_s = ADX_CALL(rec, adx_r)(adx_r);                           \
        } else {                                                            \
            ADX_LET adx_r =                                                 \
                ADX_TAKE (*adx_s) ADX_AND_Y (adx_t) ADX_MAKE_2(add);        \
            *adx_s = ADX_CALL(rec, adx_r)(adx_r);                           \
        }                                                                   \
        ADX_LOUD                                                            \
    })

// Sine and cosine of the same operand.
#define ADX_MAKE_SINCOS                                                     \
        ;                                                                   \
        ADX_LET adx_t = adx_own(adx_x_);                                    \
        ADX_NOTE_PLACE                                                      \
        ADX_LET adx_s = ADX_TAKE (adx_t) ADX_MAKE_1(sin);                   \
        *adx_y_ = ADX_CALL(rec, adx_s)(adx_s);                              \
        ADX_LET adx_c = ADX_TAKE (adx_t) ADX_MAKE_1(cos);                   \
        *adx_z_ = ADX_CALL(rec, adx_c)(adx_c);                              \
        ADX_LOUD                                                            \
    })

#define ad_sincos(a, s, c)                                                  \
    (ADX_TAKE (a) ADX_AND_Y (s) ADX_AND_Z (c) ADX_MAKE_SINCOS)

// The parts without a derivative of modf and frexp.
#define ADX_TAKE_MODF  ADX_TAKE
#define ADX_TAKE_FREXP ADX_TAKE
#define ADX_AND_WHOLE(whole)                                                \
        ; ad_real *const adx_w_ = (whole);                                  \
        ADX_LET adx_t = adx_own(adx_x_);                                    \
        *adx_w_ = ad_value(ADX_TAKE (adx_t) ADX_MAKE_STEP(trunc))
#define ADX_AND_EXPONENT(exponent)                                          \
        ; int *const adx_w_ = (exponent);                                   \
        ADX_LET adx_t = adx_own(adx_x_);                                    \
        const int adx_k_ = adx_exponent_of(adx_t.head.v);                   \
        *adx_w_ = adx_k_;                                                   \
        ADX_KEEP_EXPONENT                                                   \
        ADX_LET adx_y_ = -(ad_real)adx_k_
#if ADREV_TRACE
#define ADX_KEEP_EXPONENT                                                   \
        if (ADX_ACTIVE(ADX_WIDTH(adx_t)) && ADX_UNLIKELY(ADX_TRACED))       \
            adx_observed_exponent(ADX_NODE(adx_t), adx_k_);
#else
#define ADX_KEEP_EXPONENT
#endif

#define ad_dual(e)    (ADX_TAKE (e) ADX_MAKE_DUAL)
#define ad_expr_of(a) (ADX_TAKE (a) ADX_MAKE_EXPR)
#define ad_acc(s, e)  (ADX_TAKE adx_accumulator(s) ADX_AND_Y (e) ADX_MAKE_SUM)

// In clang's C ad_rec is a function, so that its argument is in no macro.
#if defined __clang__ && !defined __cplusplus && !ADREV_DEBUG
#define ADX_REC_ANY(type) ADX_OVERLOAD ad_rev adx_rec_any(type e)
#define ADX_DEFINE(N)                                                       \
    ADX_REC_ANY(ad_expr_##N) { return adx_rec_##N(e); }
ADX_WIDTHS(ADX_DEFINE)
ADX_DEFINE(0)
#undef ADX_DEFINE
ADX_REC_ANY(ad_rev) { return adx_rec_1(adx_leaf(e)); }
#define ADX_DEFINE(type)                                                    \
    ADX_REC_ANY(type) { return adx_passive((ad_real)e); }
ADX_ARITHMETIC(ADX_DEFINE)
#undef ADX_DEFINE
#define ADX_NO_FORWARD                                                      \
    __attribute__((unavailable("an ad_fwd is not recorded: ad_dual evaluates " \
                               "it")))
ADX_REC_ANY(ad_fwd) ADX_NO_FORWARD;
ADX_REC_ANY(ad_expr_dual) ADX_NO_FORWARD;
#undef ADX_NO_FORWARD
#undef ADX_REC_ANY
#define ad_rec adx_rec_any
#else
#define ad_rec(e) (ADX_TAKE (e) ADX_MAKE_REC)
#endif

#ifdef __cplusplus
#define ad_expr auto
ADX_INLINE ad_real adx_plain(ad_rev x) { return adx_plain_rev(x); }
ADX_INLINE ad_real adx_plain(ad_fwd x) { return adx_plain_fwd(x); }
ADX_INLINE ad_rev adx_detach(ad_rev x) { return adx_detach_rev(x); }
ADX_INLINE ad_fwd adx_detach(ad_fwd x) { return adx_detach_fwd(x); }
template <class Plain, adrev::adx_if_plain<Plain> = 0>
ADX_INLINE ad_real adx_plain(Plain x) { return static_cast<ad_real>(x); }
template <class Plain, adrev::adx_if_plain<Plain> = 0>
ADX_INLINE ad_real adx_detach(Plain x) { return static_cast<ad_real>(x); }
template <class Any> ADX_INLINE ad_real ad_value(const Any &x)
{
    return adx_plain(x);
}
template <class Any> ADX_INLINE auto ad_detach(const Any &x)
    -> decltype(adx_detach(x))
{
    return adx_detach(x);
}
#else
#define ad_expr __auto_type
#define ad_value(x)                                                         \
    _Generic((x), ad_rev: adx_plain_rev, ad_fwd: adx_plain_fwd,             \
             ADX_EXPRS(plain), float: adx_plain_float,                      \
             default: adx_plain_number)(x)
#define ad_detach(x)                                                        \
    _Generic((x), ad_rev: adx_detach_rev, ad_fwd: adx_detach_fwd,           \
             ADX_EXPRS(detach), float: adx_plain_float,                     \
             default: adx_plain_number)(x)
#endif

#endif // ADX_FUSES

/* === number/called ==========================================================
 * Operators where expressions are not fused: each is a function call
 * (tape/apart) and a statement of its own. That is the least code, and plain
 * C11.
 *
 *   needs   number/recording
 * ========================================================================== */

#if !ADX_FUSES

typedef adx_number ad_expr_0, ad_expr_1, ad_expr_2, ad_expr_3, ad_expr_4,
                   ad_expr_5, ad_expr_6, ad_expr_7, ad_expr_8, ad_expr_9,
                   ad_expr_10, ad_expr_11, ad_expr_12, ad_expr_dual;

ADX_INLINE adx_number adx_constant(ad_real v)
{
    adx_number e = ADX_ZERO;
    e.v = v;
    return e;
}

ADX_INLINE adx_number adx_leaf(ad_rev x)
{
    adx_number e = adx_constant(x.v);
    e.id = adx_word(&x);
    e.kind = ADX_RECORDED;
    return e;
}

ADX_INLINE adx_number adx_from_fwd(ad_fwd x)
{
    adx_number e = adx_constant(x.v);
    e.d = x.d;
    e.kind = ADX_DUAL;
    return e;
}

#ifdef __cplusplus
ADX_INLINE adx_number adx_own(adx_number e) { return e; }
ADX_INLINE adx_number adx_own(ad_rev x) { return adx_leaf(x); }
ADX_INLINE adx_number adx_own(ad_fwd x) { return adx_from_fwd(x); }
template <class Number> ADX_INLINE adx_number adx_own(Number v)
{
    return adx_constant((ad_real)v);
}
#else
ADX_INLINE adx_number adx_own_expr(adx_number e) { return e; }
#define ADX_DEFINE(name, type)                                              \
    ADX_INLINE adx_number adx_own_##name(type v)                            \
        { return adx_constant((ad_real)v); }
ADX_OWN_TYPES(ADX_DEFINE)
#undef ADX_DEFINE
#define adx_own(x)                                                          \
    _Generic((x), ad_rev: adx_leaf, ad_fwd: adx_from_fwd,                   \
             adx_number: adx_own_expr, ADX_NUMBERS(adx_own))(x)
#endif

ADX_INLINE ad_real adx_plain_expr(adx_number e)
{
    return adx_call_value(ADX_HOW, e);
}

ADX_INLINE adx_number adx_detach_expr(adx_number e)
{
    return adx_call_detach(ADX_HOW, e);
}

// An operator applies its function to its operands, each of which is evaluated
// once.
typedef adx_number adx_op_1(ADX_CALLED_1);
typedef adx_number adx_op_2(ADX_CALLED_2);
typedef adx_number adx_op_3(ADX_CALLED_3);
typedef bool adx_op_test(ADX_CALLED_2);
ADX_INLINE adx_number adx_apply_1(adx_number a, adx_op_1 *f)
{
    return f(ADX_HOW, a);
}
ADX_INLINE adx_number adx_apply_2(adx_number a, adx_number b, adx_op_2 *f)
{
    return f(ADX_HOW, a, b);
}
ADX_INLINE adx_number adx_apply_3(adx_number a, adx_number b, adx_number c,
                                  adx_op_3 *f)
{
    return f(ADX_HOW, a, b, c);
}
ADX_INLINE bool adx_apply_test(adx_number a, adx_number b, adx_op_test *f)
{
    return f(ADX_HOW, a, b);
}

// The parts without a derivative of modf and frexp.
ADX_INLINE adx_number adx_apply_modf(adx_number a, ad_real *whole, adx_op_1 *f)
{
    *whole = adx_plain_expr(adx_call_trunc(ADX_HOW, a));
    return f(ADX_HOW, a);
}

ADX_INLINE adx_number adx_apply_frexp(adx_number a, int *exponent, adx_op_2 *f)
{
    const int k = adx_exponent_of(a.v);
    *exponent = k;
    if (ADREV_TRACE && ADX_TRACED && (a.kind & ADX_RECORDED))
        adx_observed_exponent(adx_numbered(a.v, a.id), k);
    return f(ADX_HOW, a, adx_constant(-(ad_real)k));
}

ADX_INLINE void adx_sincos_rev(adx_number a, ad_rev *s, ad_rev *c)
{
    *s = adx_call_rec(adx_call_sin(ADX_HOW, a));
    *c = adx_call_rec(adx_call_cos(ADX_HOW, a));
}

ADX_INLINE void adx_sincos_fwd(adx_number a, ad_fwd *s, ad_fwd *c)
{
    *s = adx_call_dual(ADX_HOW, adx_call_sin(ADX_HOW, a));
    *c = adx_call_dual(ADX_HOW, adx_call_cos(ADX_HOW, a));
}

#ifdef __cplusplus
#define ad_expr auto
#elif defined __GNUC__ || defined __clang__
#define ad_expr __auto_type
#else
typedef adx_number ad_expr;
#endif

#if (defined __GNUC__ || defined __clang__) && !defined __cplusplus
#define ADX_OPERAND(a)                                                      \
    __extension__({                                                         \
        ADX_QUIET                                                           \
        ADX_NOTE_PLACE                                                      \
        __auto_type adx_x_ = (a);                                           \
        ADX_LOUD                                                            \
        adx_own(adx_x_);                                                    \
    })
#elif !defined __cplusplus
// C without GNU's extensions. _Generic would mention an operand twice, and the
// text of an expression would double with each level. So an operator begins
// with three parentheses, and an operand that begins so is taken for what it
// is, the result of an operator. INNER is what stands between the first two;
// its commas, up to seven, do not disturb the count.
#define ADX_NINTH_(a, b, c, d, e, f, g, h, i, ...) i
#define ADX_NINTH(...)    ADX_NINTH_(__VA_ARGS__)
#define ADX_FOUND(...)    ~, ~, ~, ~, ~, ~, ~, ~, 1, ~
#define ADX_BEGINS(...)                                                     \
    ADX_NINTH(ADX_FOUND __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0, ~)
#define ADX_INNER(...)    __VA_ARGS__
#define ADX_RESULT_0(...) 0
#define ADX_RESULT_1(...) ADX_RESULT_2(ADX_INNER __VA_ARGS__)
#define ADX_RESULT_2(...)                                                   \
    ADX_JOIN(ADX_THIRD_, ADX_BEGINS(__VA_ARGS__))(__VA_ARGS__)
#define ADX_THIRD_0(...)  0
#define ADX_THIRD_1(...)  ADX_THIRD_2(ADX_INNER __VA_ARGS__)
#define ADX_THIRD_2(...)  ADX_BEGINS(__VA_ARGS__)
#define ADX_IS_RESULT(a)  ADX_JOIN(ADX_RESULT_, ADX_BEGINS(a))(a)
#define ADX_OPERAND_0(a)  adx_own(a)
#define ADX_OPERAND_1(a)  a
#if ADREV_DEBUG
#define ADX_OPERAND(a)                                                      \
    (adx_here(__FILE__, __LINE__), ADX_JOIN(ADX_OPERAND_, ADX_IS_RESULT(a))(a))
#else
#define ADX_OPERAND(a) ADX_JOIN(ADX_OPERAND_, ADX_IS_RESULT(a))(a)
#endif
#elif ADREV_DEBUG
#define ADX_OPERAND(a) (adx_here(__FILE__, __LINE__), adx_own(a))
#else
#define ADX_OPERAND adx_own
#endif
// Two parentheses; the third is in the front.
#define ADX_TAKE_1      ((adx_apply_1(ADX_OPERAND
#define ADX_TAKE_2      ((adx_apply_2(ADX_OPERAND
#define ADX_TAKE_3      ((adx_apply_3(ADX_OPERAND
#define ADX_TAKE_TEST   adx_apply_test(ADX_OPERAND
#define ADX_TAKE_MODF   ((adx_apply_modf(ADX_OPERAND
#define ADX_TAKE_FREXP  ((adx_apply_frexp(ADX_OPERAND
#define ADX_TAKE_CHOICE ((adx_call_choose(ADX_HOW, !!
#define ADX_AND_Y       , ADX_OPERAND
#define ADX_AND_Z       , ADX_OPERAND
#define ADX_AND_WHOLE(whole)       , whole
#define ADX_AND_EXPONENT(exponent) , exponent
#define ADX_MAKE_1(name)    , adx_call_##name)))
#define ADX_MAKE_2(name)    , adx_call_##name)))
#define ADX_MAKE_3(name)    , adx_call_##name)))
#define ADX_MAKE_STEP(name) , adx_call_##name)))
#define ADX_MAKE_TEST(name) , adx_call_##name)
#define ADX_MAKE_CHOICE     )))
#define ad_rec(e)     adx_call_rec(ADX_OPERAND(e))
#define ad_dual(e)    adx_call_dual(ADX_HOW, ADX_OPERAND(e))
#define ad_expr_of(e) ADX_OPERAND(e)

#ifdef __cplusplus
ADX_INLINE ad_real ad_value(ad_rev x) { return adx_plain_rev(x); }
ADX_INLINE ad_real ad_value(ad_fwd x) { return adx_plain_fwd(x); }
ADX_INLINE ad_real ad_value(adx_number e) { return adx_plain_expr(e); }
template <class Plain, adrev::adx_if_plain<Plain> = 0>
ADX_INLINE ad_real ad_value(Plain x) { return static_cast<ad_real>(x); }
template <class Plain, adrev::adx_if_plain<Plain> = 0>
ADX_INLINE ad_real ad_detach(Plain x) { return static_cast<ad_real>(x); }
ADX_INLINE ad_rev ad_detach(ad_rev x) { return adx_detach_rev(x); }
ADX_INLINE ad_fwd ad_detach(ad_fwd x) { return adx_detach_fwd(x); }
ADX_INLINE adx_number ad_detach(adx_number e) { return adx_detach_expr(e); }
ADX_INLINE void adx_acc(ad_rev *s, adx_number e)
{
    adx_call_acc_rev(ADX_HOW, s, e);
}
ADX_INLINE void adx_acc(ad_fwd *s, adx_number e)
{
    adx_call_acc_fwd(ADX_HOW, s, e);
}
#define ad_acc(s, e) adx_acc((s), ADX_OPERAND(e))
ADX_INLINE void adx_sincos(adx_number a, ad_rev *s, ad_rev *c)
{
    adx_sincos_rev(a, s, c);
}
ADX_INLINE void adx_sincos(adx_number a, ad_fwd *s, ad_fwd *c)
{
    adx_sincos_fwd(a, s, c);
}
#define ad_sincos(a, s, c) adx_sincos(ADX_OPERAND(a), s, c)
#else
#define ad_value(x)                                                         \
    _Generic((x), ad_rev: adx_plain_rev, ad_fwd: adx_plain_fwd,             \
             adx_number: adx_plain_expr, float: adx_plain_float,            \
             default: adx_plain_number)(x)
#define ad_detach(x)                                                        \
    _Generic((x), ad_rev: adx_detach_rev, ad_fwd: adx_detach_fwd,           \
             adx_number: adx_detach_expr, float: adx_plain_float,           \
             default: adx_plain_number)(x)
#define ad_acc(s, e)                                                        \
    _Generic((s), ad_rev *: adx_call_acc_rev, ad_fwd *: adx_call_acc_fwd)(  \
        ADX_HOW, s, ADX_OPERAND(e))
#define ad_sincos(a, s, c)                                                  \
    _Generic((s), ad_rev *: adx_sincos_rev, ad_fwd *: adx_sincos_fwd)(      \
        ADX_OPERAND(a), s, c)
#endif

#endif // ADX_FUSES

/* === number/fronts ==========================================================
 * What users write. An operand may be an ad_rev, an ad_fwd, an expression or of
 * any arithmetic type (write a bit-field as +s.b), and is evaluated once. One
 * expression cannot have both an ad_fwd and an ad_rev: take ad_value of one.
 *
 *     ad_rec(e)      records the expression e as one statement; with more than
 *                    ADREV_FUSE operands it is split. Constants alone give a
 *                    constant. An ad_rev is returned as it is.
 *     ad_dual(e)     evaluates the expression e in forward mode. An expression
 *                    of recorded numbers gives its value, with derivative 0.
 *     ad_acc(s, e)   is *s += e, where s points to an ad_rev or ad_fwd. If *s
 *                    is the last value recorded, only operands of e are stored;
 *                    if e is the last value recorded, only one for *s.
 *     ad_value(x)    is the plain number. This does not need the recording, so
 *                    x may be of an earlier one.
 *     ad_detach(x)   is the same value without its derivative.
 *     ad_sincos(x, s, c)  is *s = sin x and *c = cos x, as ad_rec or ad_dual
 *                    returns them; x is evaluated once.
 *     ad_expr e = x; keeps an expression for later. Its type depends on the
 *                    number of recorded operands: three make an ad_expr_3. A
 *                    function that takes or returns expressions names such a
 *                    type, and should be static inline, since only then do they
 *                    stay in registers.
 *     ad_expr_of(x)  turns a number into an expression: an ad_rev into an
 *                    ad_expr_1.
 *
 *   needs   number/recording number/expression number/operators
 *   offers  adx_each_number ADX_LOOPED adx_each_op adx_each_op_of
 * ========================================================================== */

// a where the condition holds, else b. Both are evaluated; the one that is not
// taken has no influence on any derivative.
#define ad_select(condition, a, b)                                          \
    (ADX_TAKE_CHOICE (condition) ADX_AND_Y (a) ADX_AND_Z (b) ADX_MAKE_CHOICE)

// The exponent k is an int. It is a parameter, not an operand.
#define ad_powi(a, k)                                                       \
    (ADX_TAKE_2 (a) ADX_AND_Y (ADX_EXPONENT(k)) ADX_MAKE_2(powi))
#define ad_ldexp(a, k)                                                      \
    (ADX_TAKE_2 (a) ADX_AND_Y (ADX_EXPONENT(k)) ADX_MAKE_2(ldexp))

// Derivatives of digamma, and Bessel functions. The order n, an int, comes
// first, as in C. ADREV_NO_BESSEL leaves the latter out.
#define ad_polygamma(n, a)                                                  \
    (ADX_TAKE_2 (ADX_EXPONENT(n)) ADX_AND_Y (a) ADX_MAKE_2(polygamma))
#ifndef ADREV_NO_BESSEL
#define ad_jn(n, a)                                                         \
    (ADX_TAKE_2 (ADX_EXPONENT(n)) ADX_AND_Y (a) ADX_MAKE_2(jn))
#define ad_yn(n, a)                                                         \
    (ADX_TAKE_2 (ADX_EXPONENT(n)) ADX_AND_Y (a) ADX_MAKE_2(yn))
#define ad_j0(a) ad_jn(0, a)
#define ad_j1(a) ad_jn(1, a)
#define ad_y0(a) ad_yn(0, a)
#define ad_y1(a) ad_yn(1, a)
#endif

// As modf and frexp: the result carries the derivative. The other part goes to
// *whole, an ad_real, or *exponent, an int, and has none; a recorded function
// holds where that part is what it was. The exponent of infinities and NaNs
// is 0.
#define ad_modf(a, whole)                                                   \
    (ADX_TAKE_MODF (a) ADX_AND_WHOLE(whole) ADX_MAKE_1(frac))
#define ad_frexp(a, exponent)                                               \
    (ADX_TAKE_FREXP (a) ADX_AND_EXPONENT(exponent) ADX_MAKE_2(ldexp))

#define ad_add(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(add))
#define ad_sub(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(sub))
#define ad_mul(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(mul))
#define ad_div(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(div))
#define ad_fma(a, b, c)                                                     \
    (ADX_TAKE_3 (a) ADX_AND_Y (b) ADX_AND_Z (c) ADX_MAKE_3(fma))
#define ad_neg(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(neg))
#define ad_sqr(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(sqr))
#define ad_abs(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(abs))
#define ad_min(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(min))
#define ad_max(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(max))
#define ad_clamp(a, lo, hi)                                                 \
    (ADX_TAKE_3 (a) ADX_AND_Y (lo) ADX_AND_Z (hi) ADX_MAKE_3(clamp))
#define ad_fdim(a, b)      (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(fdim))
#define ad_fmod(a, b)      (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(fmod))
#define ad_remainder(a, b) (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(remainder))
#define ad_frac(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(frac))
#define ad_copysign(a, b)  (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(copysign))
#define ad_sqrt(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(sqrt))
#define ad_cbrt(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(cbrt))
#define ad_hypot(a, b)     (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(hypot))
#define ad_pow(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(pow))
#define ad_exp(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(exp))
#define ad_exp2(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(exp2))
#define ad_exp10(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(exp10))
#define ad_expm1(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(expm1))
#define ad_log(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(log))
#define ad_log2(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(log2))
#define ad_log10(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(log10))
#define ad_log1p(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(log1p))
#define ad_sin(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(sin))
#define ad_cos(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(cos))
#define ad_tan(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(tan))
#define ad_asin(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(asin))
#define ad_acos(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(acos))
#define ad_atan(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(atan))
#define ad_atan2(a, b)     (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(atan2))
#define ad_sinh(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(sinh))
#define ad_cosh(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(cosh))
#define ad_tanh(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(tanh))
#define ad_asinh(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(asinh))
#define ad_acosh(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(acosh))
#define ad_atanh(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(atanh))
#define ad_relu(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(relu))
#define ad_sigmoid(a)      (ADX_TAKE_1 (a) ADX_MAKE_1(sigmoid))
#define ad_softplus(a)     (ADX_TAKE_1 (a) ADX_MAKE_1(softplus))
#define ad_log_add_exp(a, b)                                                \
    (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(log_add_exp))
#define ad_erf(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(erf))
#define ad_erfc(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(erfc))
#define ad_lgamma(a)       (ADX_TAKE_1 (a) ADX_MAKE_1(lgamma))
#define ad_tgamma(a)       (ADX_TAKE_1 (a) ADX_MAKE_1(tgamma))
#define ad_digamma(a)      (ADX_TAKE_1 (a) ADX_MAKE_1(digamma))

// The incomplete gamma functions of shape a, regularised: P(a, x) is the
// probability that a gamma variable is below x, and Q = 1 - P.
#define ad_gamma_p(a, x)   (ADX_TAKE_2 (a) ADX_AND_Y (x) ADX_MAKE_2(gamma_p))
#define ad_gamma_q(a, x)   (ADX_TAKE_2 (a) ADX_AND_Y (x) ADX_MAKE_2(gamma_q))

// The incomplete beta functions of shapes a and b, regularised: I(a, b, x) is
// the probability that a beta variable is below x, and beta_q = 1 - I.
#define ad_beta_p(a, b, x)                                                  \
    (ADX_TAKE_3 (a) ADX_AND_Y (b) ADX_AND_Z (x) ADX_MAKE_3(beta_p))
#define ad_beta_q(a, b, x)                                                  \
    (ADX_TAKE_3 (a) ADX_AND_Y (b) ADX_AND_Z (x) ADX_MAKE_3(beta_q))

// Step functions: the result has derivative 0.
#define ad_floor(a)        (ADX_TAKE_1 (a) ADX_MAKE_STEP(floor))
#define ad_ceil(a)         (ADX_TAKE_1 (a) ADX_MAKE_STEP(ceil))
#define ad_trunc(a)        (ADX_TAKE_1 (a) ADX_MAKE_STEP(trunc))
#define ad_round(a)        (ADX_TAKE_1 (a) ADX_MAKE_STEP(round))
#define ad_rint(a)         (ADX_TAKE_1 (a) ADX_MAKE_STEP(rint))
#define ad_nearbyint(a)    (ADX_TAKE_1 (a) ADX_MAKE_STEP(nearbyint))
#define ad_sign(a)         (ADX_TAKE_1 (a) ADX_MAKE_STEP(sign))

// Comparisons of values: bool.
#define ad_lt(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(lt))
#define ad_le(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(le))
#define ad_gt(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(gt))
#define ad_ge(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(ge))
#define ad_eq(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(eq))
#define ad_ne(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(ne))

// Other names of <math.h> for the same operations.
#define ad_fabs ad_abs
#define ad_fmin ad_min
#define ad_fmax ad_max

// Private copies without array statements have nothing of these.
#if ADREV_FIXED < 2 || !defined ADREV_STATIC
// A row of the operator table as loops over n elements. The first loop computes
// the values; each further loop computes one partial, if there is room for it.
// A step function has no partials. With ADREV_FIXED it is one loop, which reads
// numbers and writes the values of results where they are, so that it needs no
// other memory.
#if ADREV_FIXED
typedef ad_rev adx_each_number;
#else
typedef ad_real adx_each_number;
#endif
#define ADX_LOOPED                                                          \
    size_t n, const adx_each_number *const x[3], adx_each_number v[],       \
    ad_real *const d[3]
typedef void adx_loops(ADX_LOOPED);

// What ad_each does with each element.
typedef struct adx_each_op {
    adx_loops *loops;           // NULL: not an operation, but a comparison
    ad_opcode op;
    unsigned char arity;
    bool step;
    bool linear;                // partials are constants
} adx_each_op;

#define ADX_DEFINE(name, ...)                                               \
    ADX_API void adx_loops_##name(ADX_LOOPED);
ADREV_OPS(ADX_DEFINE)
ADREV_STEPS(ADX_DEFINE)
#undef ADX_DEFINE
ADX_API void adx_each_s(adx_each_op row, size_t n, const ad_rev *a,
                        ptrdiff_t inca, const ad_rev *b, ptrdiff_t incb,
                        const ad_rev *c, ptrdiff_t incc, ad_rev *y,
                        ptrdiff_t incy);

// The row of a code. Where the compiler knows the code, it refers to the loops
// of that row alone, so the linker leaves out all others: 49 kB of a firmware.
ADX_INLINE adx_each_op adx_each_op_of(ad_opcode op)
{
    adx_each_op row = ADX_ZERO;
    row.op = op;
#define ADX_DEFINE(name, n, f, fx, fy, fz, x0, x1, y0, y1, z0, z1, how)     \
    case ADREV_OP_##name:                                                   \
        row.loops = adx_loops_##name;                                       \
        row.arity = n;                                                      \
        row.linear = ((how) & ADX_LINEAR) != 0;                             \
        break;
#define ADX_DEFINE_STEP(name, ...)                                          \
    case ADREV_OP_##name:                                                   \
        row.loops = adx_loops_##name;                                       \
        row.arity = 1;                                                      \
        row.step = true;                                                    \
        break;
    switch ((int)op) {
    ADREV_OPS(ADX_DEFINE)
    ADREV_STEPS(ADX_DEFINE_STEP)
    default: break;
    }
#undef ADX_DEFINE
#undef ADX_DEFINE_STEP
    return row;
}

ADX_INLINE void adx_each(adx_each_op row, size_t n, const ad_rev *a,
                         const ad_rev *b, const ad_rev *c, ad_rev *y)
{
    adx_each_s(row, n, a, 1, b, 1, c, 1, y, 1);
}

#if (defined __GNUC__ || defined __clang__) && defined __OPTIMIZE__
#define ADX_EACH(each, op, ...)                                             \
    (__builtin_constant_p(op) ? adx_##each(adx_each_op_of(op), __VA_ARGS__) \
                              : (ad_##each)(op, __VA_ARGS__))
#define ad_each(...)   ADX_EACH(each, __VA_ARGS__)
#define ad_each_s(...) ADX_EACH(each_s, __VA_ARGS__)
#endif
#endif

// With ADREV_DEBUG each statement knows its place in the source.
#if ADREV_DEBUG
#define ADX_PLACED(call) (adx_here(__FILE__, __LINE__), call)
#define ad_input(...)       ADX_PLACED(ad_input(__VA_ARGS__))
#define ad_inputs(...)      ADX_PLACED(ad_inputs(__VA_ARGS__))
#define ad_external(...)    ADX_PLACED(ad_external(__VA_ARGS__))
#define ad_op1(...)         ADX_PLACED(ad_op1(__VA_ARGS__))
#define ad_op2(...)         ADX_PLACED(ad_op2(__VA_ARGS__))
#define ad_op3(...)         ADX_PLACED(ad_op3(__VA_ARGS__))
#define ad_sum(...)         ADX_PLACED(ad_sum(__VA_ARGS__))
#define ad_sum_s(...)       ADX_PLACED(ad_sum_s(__VA_ARGS__))
#define ad_dot(...)         ADX_PLACED(ad_dot(__VA_ARGS__))
#define ad_dot_s(...)       ADX_PLACED(ad_dot_s(__VA_ARGS__))
#define ad_dotc(...)        ADX_PLACED(ad_dotc(__VA_ARGS__))
#define ad_dotc_s(...)      ADX_PLACED(ad_dotc_s(__VA_ARGS__))
#define ad_norm2(...)       ADX_PLACED(ad_norm2(__VA_ARGS__))
#define ad_norm2_s(...)     ADX_PLACED(ad_norm2_s(__VA_ARGS__))
#define ad_sqdist(...)      ADX_PLACED(ad_sqdist(__VA_ARGS__))
#define ad_sqdist_s(...)    ADX_PLACED(ad_sqdist_s(__VA_ARGS__))
#define ad_logsumexp(...)   ADX_PLACED(ad_logsumexp(__VA_ARGS__))
#define ad_logsumexp_s(...) ADX_PLACED(ad_logsumexp_s(__VA_ARGS__))
#define ad_softmax(...)     ADX_PLACED(ad_softmax(__VA_ARGS__))
#define ad_softmax_s(...)   ADX_PLACED(ad_softmax_s(__VA_ARGS__))
#define ad_axpy(...)        ADX_PLACED(ad_axpy(__VA_ARGS__))
#define ad_axpy_s(...)      ADX_PLACED(ad_axpy_s(__VA_ARGS__))
#define ad_scale(...)       ADX_PLACED(ad_scale(__VA_ARGS__))
#define ad_scale_s(...)     ADX_PLACED(ad_scale_s(__VA_ARGS__))
#undef ad_each
#undef ad_each_s
#define ad_each(...)        ADX_PLACED(ad_each(__VA_ARGS__))
#define ad_each_s(...)      ADX_PLACED(ad_each_s(__VA_ARGS__))
#define ad_matvec(...)      ADX_PLACED(ad_matvec(__VA_ARGS__))
#define ad_matvec_s(...)    ADX_PLACED(ad_matvec_s(__VA_ARGS__))
#define ad_matvecc(...)     ADX_PLACED(ad_matvecc(__VA_ARGS__))
#define ad_matmul(...)      ADX_PLACED(ad_matmul(__VA_ARGS__))
#define ad_matmul_s(...)    ADX_PLACED(ad_matmul_s(__VA_ARGS__))
#define ad_trimatvec(...)   ADX_PLACED(ad_trimatvec(__VA_ARGS__))
#endif

#undef ADX_LIBM1
#undef ADX_LIBM2

/* === cpp/operators ==========================================================
 * Operators of C++ on numbers and expressions: x * y is ad_mul(x, y), of the
 * same type. An expression is recorded, as one statement, where it becomes an
 * ad_rev, and evaluated where it becomes an ad_fwd: by an initialisation, an
 * assignment, an argument or a return.
 *
 * These are templates for operands of any two types of which one is ours. Which
 * type they return is computed from the numbers of operands, as in
 * number/operators, and what they do is written there. Operands are passed by
 * value, as the macros take them: then they are read in the same order, and gcc
 * 12 keeps forward numbers in registers. (bench/operators.sh: forward numbers,
 * 0.38 of references.)
 *
 *   needs   cpp/members number/recording number/expression number/operators
 *           number/fronts
 *   offers  adx_give adx_result_2 adx_result_3
 * ========================================================================== */

#ifdef __cplusplus

// A macro that stands in a function of this file knows no place in the user's.
#pragma push_macro("ADX_NOTE_PLACE")
#undef ADX_NOTE_PLACE
#if ADREV_DEBUG
#define ADX_NOTE_PLACE adx_here(adx_at_file, adx_at_line);
#else
#define ADX_NOTE_PLACE
#endif
#if !ADX_FUSES
#pragma push_macro("ADX_OPERAND")
#undef ADX_OPERAND
#define ADX_OPERAND ::adx_own
#endif

namespace adrev {

/* --- from an expression to a number --------------------------------------- */

#if ADREV_DEBUG && !ADX_FUSES
#define ADX_HERE adx_here(adx_at_file, adx_at_line);
#else
#define ADX_HERE
#endif
#define ADX_DEFINE_FROM(number, record)                                     \
    template <class Expr>                                                   \
    static ADX_MEMBER number from(const Expr &e ADX_CALLER_IS)              \
    {                                                                       \
        ADX_HERE                                                            \
        return record(e);                                                   \
    }
#define ADX_DEFINE_WHOLE(number)                                            \
    static ADX_MEMBER bool whole(const number &x, bool *)                   \
    {                                                                       \
        ADX_UNPLACED                                                        \
        return ad_ne(x, 0);                                                 \
    }                                                                       \
    template <class Whole>                                                  \
    static ADX_MEMBER Whole whole(const number &x, Whole *)                 \
    {                                                                       \
        return static_cast<Whole>(ad_value(x));                             \
    }
#if ADREV_DEBUG && ADX_FUSES
#define ADX_UNPLACED                                                        \
    const char *adx_at_file = nullptr;                                      \
    int adx_at_line = 0;
#else
#define ADX_UNPLACED
#endif
#define ADX_DEFINE(number, record)                                          \
    template <> struct adx_convert<number, ADX_SWITCHES>                    \
    {                                                                       \
        ADX_DEFINE_FROM(number, record)                                     \
        ADX_DEFINE_WHOLE(number)                                            \
    };
ADX_DEFINE(ad_rev, ad_rec)
ADX_DEFINE(ad_fwd, ad_dual)
#undef ADX_DEFINE
#undef ADX_HERE

/* --- types of results ----------------------------------------------------- */

#if ADX_FUSES

static_assert(int(ADX_FORWARD) == ADX_DUAL_WIDTH, "of forward numbers");

// Those of an operation on operands with so many slots.
template <unsigned nx> struct adx_slots_1
{
    typedef typename adx_of_width<nx>::type type;
    typedef typename adx_of_width<nx / ADX_FORWARD * ADX_FORWARD>::type step;
};
template <unsigned nx, unsigned ny> struct adx_slots_2
{
    typedef typename adx_of_width<ADX_LEFT(nx, ADX_SPLIT_X(nx, ny))
                                  + ADX_LEFT(ny, ADX_SPLIT_Y(nx, ny))>::type
        type;
};
template <unsigned nx, unsigned ny, unsigned nz> struct adx_slots_3
{
    static constexpr bool wide = nx + ny + nz > ADREV_FUSE && nx < ADX_FORWARD
                              && ny < ADX_FORWARD && nz < ADX_FORWARD;
    typedef typename adx_of_width<ADX_LEFT(nx, wide && nx > 1)
                                  + ADX_LEFT(ny, wide && ny > 1)
                                  + ADX_LEFT(nz, wide && nz > 1)>::type type;
};

template <class Result, class Expr>
ADX_INLINE Result adx_give(const Expr &e) { return e; }

// A constant, or an expression with fewer operands: the other slots are those
// of constants. Under a trace hook the first one is the expression's only one.
#define ADX_EMPTY(i)                                                        \
    r.slot[i].d = (i) < n ? s[i].d : (i) == 0;                              \
    r.slot[i].id = (i) < n ? s[i].id : 0;
#define ADX_DEFINE(N)                                                       \
    template <> struct adx_convert<ad_expr_##N, ADX_SWITCHES>               \
    {                                                                       \
        template <class Any> static ADX_MEMBER ad_expr_##N widen(Any x)     \
        {                                                                   \
            ad_expr_##N r;                                                  \
            auto e = adx_own(x);                                            \
            const unsigned n = ADX_WIDTH(e);                                \
            const adx_slot *s = adx_slots_of(&e.head);                      \
            r.head = e.head;                                                \
            r.head.leaf = 0;                                                \
            ADX_SLOTS_##N(ADX_EMPTY)                                        \
            return r;                                                       \
        }                                                                   \
        ADX_DEFINE_WHOLE(ad_expr_##N)                                       \
    };
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_EMPTY
#define ADX_DEFINE(N, rest)                                                 \
    template <> struct adx_convert<ad_expr_##N, ADX_SWITCHES>               \
    {                                                                       \
        template <class Any> static ADX_MEMBER ad_expr_##N widen(Any x)     \
        {                                                                   \
            ad_expr_##N r;                                                  \
            r.head = adx_own(x).head;                                       \
            rest                                                            \
            return r;                                                       \
        }                                                                   \
        ADX_DEFINE_WHOLE(ad_expr_##N)                                       \
    };
ADX_DEFINE(0, )
ADX_DEFINE(dual, r.d = 0;)
#undef ADX_DEFINE

#else // ADX_FUSES

// Every operation is recorded already: it returns a number. What a macro
// returns may be a number of either kind.
template <unsigned kinds> struct adx_of_kinds;      // bits: 1 rev, 2 fwd, 4 any
template <> struct adx_of_kinds<0> { typedef adx_number type; };
template <> struct adx_of_kinds<1> { typedef ad_rev type; };
template <> struct adx_of_kinds<2> { typedef ad_fwd type; };
template <unsigned nx> struct adx_slots_1
{
    static constexpr unsigned kinds = nx % ADX_DUAL_WIDTH != 0 ? 1
                                    : nx != 0 ? 2 : 0;
    typedef typename adx_of_kinds<kinds>::type type;
    typedef adx_number step;
};
template <unsigned nx, unsigned ny> struct adx_slots_2
{
    static constexpr unsigned kinds = adx_slots_1<nx>::kinds
                                    | adx_slots_1<ny>::kinds;
    static_assert(kinds != 3, "an ad_fwd and an ad_rev in one expression: take "
                  "ad_value of one of them");
    typedef typename adx_of_kinds<kinds % 3>::type type;
};
template <unsigned nx, unsigned ny, unsigned nz> struct adx_slots_3
    : adx_slots_2<(nx | ny) % (2 * ADX_DUAL_WIDTH), nz> { };

template <> struct adx_convert<adx_number, ADX_SWITCHES>
{
    static ADX_MEMBER adx_number from(const adx_number &e,
                                      const char * = nullptr, int = 0)
    {
        return e;
    }
    template <class Any> static ADX_MEMBER adx_number widen(Any x)
    {
        return ::adx_own(x);
    }
    ADX_DEFINE_WHOLE(adx_number)
};
template <class Result> ADX_INLINE Result adx_give(const adx_number &e)
{
    return adx_convert<Result, ADX_SWITCHES>::from(e ADX_NO_PLACE);
}

#endif // ADX_FUSES

// From here on the place is not known, but where there is an adx_changed.
#define ADX_TARGETS (ADREV_DEBUG && ADX_FUSES)
#if ADREV_DEBUG
#undef ADX_NOTE_PLACE
#define ADX_NOTE_PLACE adx_here(nullptr, 0);
#endif
#undef ADX_UNPLACED
#undef ADX_DEFINE_WHOLE
#undef ADX_DEFINE_FROM

// No type, and so no operator, unless all are operands and one of them is ours.
template <class X, bool = adx_sort<X>::ours> struct adx_result_1 { };
template <class X> struct adx_result_1<X, true>
    : adx_slots_1<adx_sort<X>::width> { };

template <class X, class Y,
          bool = (adx_sort<X>::ours || adx_sort<Y>::ours)
              && adx_sort<X>::width >= 0 && adx_sort<Y>::width >= 0>
struct adx_result_2 { };
template <class X, class Y> struct adx_result_2<X, Y, true>
    : adx_slots_2<adx_sort<X>::width, adx_sort<Y>::width> { };

template <class X, class Y, class Z,
          bool = (adx_sort<X>::ours || adx_sort<Y>::ours || adx_sort<Z>::ours)
              && adx_sort<X>::width >= 0 && adx_sort<Y>::width >= 0
              && adx_sort<Z>::width >= 0>
struct adx_result_3 { };
template <class X, class Y, class Z> struct adx_result_3<X, Y, Z, true>
    : adx_slots_3<adx_sort<X>::width, adx_sort<Y>::width, adx_sort<Z>::width>
{ };

// Those of a comparison, and of an assignment to a number.
template <class X, class Y> using adx_if_compared =
    typename adx_if<sizeof(typename adx_result_2<X, Y>::type) != 0>::type;
template <class X> using adx_if_ours =
    typename adx_if<adx_sort<X>::ours>::type;
template <class S> using adx_if_number =
    typename adx_if<adx_sort<S>::ours && !adx_sort<S>::expr
                    && !(ADX_TARGETS && adx_sort<S>::width == 1)>::type;
template <class S> using adx_if_expr =
    typename adx_if<adx_sort<S>::expr>::type;

/* --- operators ------------------------------------------------------------ */

#define ADX_DEFINE(symbol, name)                                            \
    template <class X, class Y> ADX_INLINE ADX_CHECKED                      \
    typename adx_result_2<X, Y>::type operator symbol(X x, Y y)             \
    {                                                                       \
        typedef typename adx_result_2<X, Y>::type result;                   \
        return adx_give<result>(ad_##name(x, y));                           \
    }
ADX_DEFINE(+, add)
ADX_DEFINE(-, sub)
ADX_DEFINE(*, mul)
ADX_DEFINE(/, div)
#undef ADX_DEFINE

template <class X> ADX_INLINE ADX_CHECKED
typename adx_result_1<X>::type operator-(X x)
{
    return adx_give<typename adx_result_1<X>::type>(ad_neg(x));
}

template <class X, adx_if_ours<X> = 0> ADX_INLINE ADX_CHECKED
X operator+(X x) { return x; }

#define ADX_DEFINE(name, symbol)                                            \
    template <class X, class Y, adx_if_compared<X, Y> = 0>                  \
    ADX_INLINE ADX_CHECKED bool operator symbol(X x, Y y)                   \
    {                                                                       \
        return ad_##name(x, y);                                             \
    }
ADREV_COMPARISONS(ADX_DEFINE)
#undef ADX_DEFINE

template <class X, adx_if_ours<X> = 0> ADX_INLINE ADX_CHECKED
bool operator!(X x) { return ad_eq(x, 0); }

// What auto has declared is an expression, of one width for ever.
#define ADX_DEFINE(symbol)                                                  \
    template <class S, class Y, adx_if_expr<S> = 0>                         \
    ADX_INLINE S &operator symbol(S &s, const Y &)                          \
    {                                                                       \
        static_assert(sizeof(S) == 0, "auto made this an expression: write "\
                      "ad_rev, or ad_fwd, where it is declared");           \
        return s;                                                           \
    }
ADX_DEFINE(+=)
ADX_DEFINE(-=)
ADX_DEFINE(*=)
ADX_DEFINE(/=)
#undef ADX_DEFINE

template <class S, class Y, adx_if_number<S> = 0, adx_if_compared<S, Y> = 0>
ADX_INLINE S &operator+=(S &s, Y y)
{
    ad_acc(&s, y);
    return s;
}

#define ADX_DEFINE(symbol, name)                                            \
    template <class S, class Y, adx_if_number<S> = 0,                       \
              adx_if_compared<S, Y> = 0>                                    \
    ADX_INLINE S &operator symbol(S &s, Y y)                                \
    {                                                                       \
        return s = S(ad_##name(s, y) ADX_NO_PLACE);                         \
    }
ADX_DEFINE(-=, sub)
ADX_DEFINE(*=, mul)
ADX_DEFINE(/=, div)
#undef ADX_DEFINE

#define ADX_DEFINE(symbol)                                                  \
    template <class S, adx_if_number<S> = 0>                                \
    ADX_INLINE S &operator symbol##symbol(S &s) { return s symbol##= 1; }   \
    template <class S, adx_if_number<S> = 0>                                \
    ADX_INLINE S operator symbol##symbol(S &s, int)                         \
    {                                                                       \
        const S before = s;                                                 \
        s symbol##= 1;                                                      \
        return before;                                                      \
    }
ADX_DEFINE(+)
ADX_DEFINE(-)
#undef ADX_DEFINE

// The number that x += e changes, and where that stands: an operator has no
// default arguments, but what its operand is converted to may have.
#if ADX_TARGETS
struct adx_changed
{
    ad_rev &x;
    const char *file;
    int line;
    ADX_MEMBER adx_changed(ad_rev &x_, const char *at_file = __builtin_FILE(),
                          int at_line = __builtin_LINE())
        : x(x_), file(at_file), line(at_line) { }
};

#undef ADX_NOTE_PLACE
#define ADX_NOTE_PLACE adx_here(t.file, t.line);
template <class Y, adx_if_compared<ad_rev, Y> = 0>
ADX_INLINE ad_rev &operator+=(adx_changed t, Y y)
{
    ad_acc(&t.x, y);
    return t.x;
}

#define ADX_DEFINE(symbol, name)                                            \
    template <class Y, adx_if_compared<ad_rev, Y> = 0>                      \
    ADX_INLINE ad_rev &operator symbol(adx_changed t, Y y)                   \
    {                                                                       \
        return t.x = ad_rev(ad_##name(t.x, y), t.file, t.line);             \
    }
ADX_DEFINE(-=, sub)
ADX_DEFINE(*=, mul)
ADX_DEFINE(/=, div)
#undef ADX_DEFINE

#define ADX_DEFINE(symbol)                                                  \
    ADX_INLINE ad_rev &operator symbol##symbol(adx_changed t)                \
    {                                                                       \
        return t symbol##= 1;                                               \
    }                                                                       \
    ADX_INLINE ad_rev operator symbol##symbol(adx_changed t, int)            \
    {                                                                       \
        const ad_rev before = t.x;                                          \
        t symbol##= 1;                                                      \
        return before;                                                      \
    }
ADX_DEFINE(+)
ADX_DEFINE(-)
#undef ADX_DEFINE
#undef ADX_NOTE_PLACE
#define ADX_NOTE_PLACE adx_here(nullptr, 0);
#endif

// The value. Only to streams: << of other classes, such as Eigen's, may keep
// the number.
template <class Char, class Traits, class X, adx_if_ours<X> = 0>
ADX_INLINE std::basic_ostream<Char, Traits> &
operator<<(std::basic_ostream<Char, Traits> &stream, const X &x)
{
    return stream << ad_value(x);
}

} // namespace adrev

#undef ADX_TARGETS
#if !ADX_FUSES
#pragma pop_macro("ADX_OPERAND")
#endif
#pragma pop_macro("ADX_NOTE_PLACE")

#endif // __cplusplus

/* === cpp/library ============================================================
 * The functions of <cmath>, found by the types of their arguments: write
 * sin(x), or `using std::sin; sin(x)` where x may be a double, too. They are
 * made from the operator table, without the rows that are not in <cmath>
 * (ad_sqr, ad_clamp, ad_jn ...): those would get in the way of functions of the
 * same name in the user's program. And numeric_limits.
 *
 * Of <cmath> there is no nextafter, nexttoward, remquo, nor a special function
 * of C++17. ilogb, logb and the roundings to integers are those of ad_value.
 *
 *   needs   cpp/members number/recording number/expression number/operators
 *           number/fronts cpp/operators
 * ========================================================================== */

#ifdef __cplusplus

#pragma push_macro("ADX_NOTE_PLACE")
#undef ADX_NOTE_PLACE
#if ADREV_DEBUG
#define ADX_NOTE_PLACE adx_here(nullptr, 0);
#else
#define ADX_NOTE_PLACE
#endif
#if !ADX_FUSES
#pragma push_macro("ADX_OPERAND")
#undef ADX_OPERAND
#define ADX_OPERAND ::adx_own
#endif

namespace adrev {

// Parentheses keep a macro of that name away. ADX_OMIT: no function.
#define ADX_OMIT(name, row)
#define ADX_CMATH_1(name, row)                                              \
    template <class X> ADX_INLINE ADX_CHECKED                               \
    typename adx_result_1<X>::type (name)(X x)                              \
    {                                                                       \
        return adx_give<typename adx_result_1<X>::type>(ad_##row(x));       \
    }
#define ADX_CMATH_2(name, row)                                              \
    template <class X, class Y> ADX_INLINE ADX_CHECKED                      \
    typename adx_result_2<X, Y>::type (name)(X x, Y y)                      \
    {                                                                       \
        typedef typename adx_result_2<X, Y>::type result;                   \
        return adx_give<result>(ad_##row(x, y));                            \
    }
#define ADX_CMATH_3(name, row)                                              \
    template <class X, class Y, class Z> ADX_INLINE ADX_CHECKED             \
    typename adx_result_3<X, Y, Z>::type (name)(X x, Y y, Z z)              \
    {                                                                       \
        typedef typename adx_result_3<X, Y, Z>::type result;                \
        return adx_give<result>(ad_##row(x, y, z));                         \
    }
#define ADX_CMATH_int(name, row)                                            \
    template <class X> ADX_INLINE ADX_CHECKED                               \
    typename adx_result_1<X>::type (name)(X x, int k)                       \
    {                                                                       \
        return adx_give<typename adx_result_1<X>::type>(ad_##row(x, k));    \
    }
#define ADX_CMATH_STEP(name, row)                                           \
    template <class X> ADX_INLINE ADX_CHECKED                               \
    typename adx_result_1<X>::step (name)(X x)                              \
    {                                                                       \
        return adx_give<typename adx_result_1<X>::step>(ad_##row(x));       \
    }

// What a row makes, unless it is named here.
#define ADX_ROW_add      ~, ADX_OMIT
#define ADX_ROW_sub      ~, ADX_OMIT
#define ADX_ROW_mul      ~, ADX_OMIT
#define ADX_ROW_div      ~, ADX_OMIT
#define ADX_ROW_neg      ~, ADX_OMIT
#define ADX_ROW_sqr      ~, ADX_OMIT
#define ADX_ROW_clamp    ~, ADX_OMIT
#define ADX_ROW_select   ~, ADX_OMIT
#define ADX_ROW_powi     ~, ADX_OMIT
#define ADX_ROW_relu     ~, ADX_OMIT
#define ADX_ROW_sigmoid  ~, ADX_OMIT
#define ADX_ROW_softplus ~, ADX_OMIT
#define ADX_ROW_sign     ~, ADX_OMIT
#define ADX_ROW_frac     ~, ADX_OMIT
#define ADX_ROW_exp10    ~, ADX_OMIT
#define ADX_ROW_digamma  ~, ADX_OMIT
#define ADX_ROW_gamma_p  ~, ADX_OMIT
#define ADX_ROW_gamma_q  ~, ADX_OMIT
#define ADX_ROW_beta_p   ~, ADX_OMIT
#define ADX_ROW_beta_q   ~, ADX_OMIT
#define ADX_ROW_jn       ~, ADX_OMIT
#define ADX_ROW_yn       ~, ADX_OMIT
#define ADX_ROW_polygamma   ~, ADX_OMIT
#define ADX_ROW_log_add_exp ~, ADX_OMIT
#define ADX_ROW_ldexp    ~, ADX_CMATH_int
#define ADX_SECOND_(first, second, ...) second
#define ADX_SECOND(...)                 ADX_SECOND_(__VA_ARGS__)
#define ADX_DEFINE(name, n, ...)                                            \
    ADX_SECOND(ADX_ROW_##name, ADX_CMATH_##n, ~)(name, name)
#define ADX_DEFINE_STEP(name, ...)                                          \
    ADX_SECOND(ADX_ROW_##name, ADX_CMATH_STEP, ~)(name, name)
ADREV_OPS(ADX_DEFINE)
ADREV_STEPS(ADX_DEFINE_STEP)
#undef ADX_DEFINE
#undef ADX_DEFINE_STEP

// Other names of the same.
ADX_CMATH_1(fabs, abs)
ADX_CMATH_2(fmin, min)
ADX_CMATH_2(fmax, max)
ADX_CMATH_int(scalbn, ldexp)

template <class X, class Y, class Z> ADX_INLINE ADX_CHECKED
auto (hypot)(X x, Y y, Z z) -> decltype(
    hypot(adx_any<typename adx_result_2<X, Y>::type>(), z))
{
    return hypot(hypot(x, y), z);
}

// x = fraction * 2^k, and x = fraction + whole; k and whole are constants.
template <class X> ADX_INLINE
typename adx_result_1<X>::type (frexp)(X x, int *k)
{
    return adx_give<typename adx_result_1<X>::type>(ad_frexp(x, k));
}
template <class X, class Whole> ADX_INLINE
typename adx_result_1<X>::type (modf)(X x, Whole *whole)
{
    ad_real part = 0;
    typename adx_result_1<X>::type rest =
        adx_give<typename adx_result_1<X>::type>(ad_modf(x, &part));
    *whole = part;
    return rest;
}

// Integers, and what kind of number it is. These are comparisons, so a recorded
// function notices when they come out differently.
#define ADX_DEFINE(type, name)                                              \
    template <class X, adx_if_ours<X> = 0> ADX_INLINE                       \
    type (name)(X x) { return ::name(ad_value(x)); }
ADX_DEFINE(int, ilogb)
ADX_DEFINE(ad_real, logb)
ADX_DEFINE(long, lrint)
ADX_DEFINE(long, lround)
ADX_DEFINE(long long, llrint)
ADX_DEFINE(long long, llround)
#undef ADX_DEFINE
#define ADX_DEFINE(name, test)                                              \
    template <class X, adx_if_ours<X> = 0> ADX_INLINE                       \
    bool (name)(X x) { return test; }
ADX_DEFINE(isnan, ad_ne(x, x))
ADX_DEFINE(isinf, ad_gt(ad_abs(x), std::numeric_limits<ad_real>::max()))
ADX_DEFINE(isfinite, ad_le(ad_abs(x), std::numeric_limits<ad_real>::max()))
ADX_DEFINE(signbit, ad_lt(ad_copysign(1, x), 0))
#undef ADX_DEFINE

#undef ADX_OMIT
#undef ADX_CMATH_1
#undef ADX_CMATH_2
#undef ADX_CMATH_3
#undef ADX_CMATH_int
#undef ADX_CMATH_STEP
#undef ADX_ROW_add
#undef ADX_ROW_sub
#undef ADX_ROW_mul
#undef ADX_ROW_div
#undef ADX_ROW_neg
#undef ADX_ROW_sqr
#undef ADX_ROW_clamp
#undef ADX_ROW_select
#undef ADX_ROW_powi
#undef ADX_ROW_relu
#undef ADX_ROW_sigmoid
#undef ADX_ROW_softplus
#undef ADX_ROW_sign
#undef ADX_ROW_frac
#undef ADX_ROW_exp10
#undef ADX_ROW_digamma
#undef ADX_ROW_gamma_p
#undef ADX_ROW_gamma_q
#undef ADX_ROW_beta_p
#undef ADX_ROW_beta_q
#undef ADX_ROW_jn
#undef ADX_ROW_yn
#undef ADX_ROW_polygamma
#undef ADX_ROW_log_add_exp
#undef ADX_ROW_ldexp
#undef ADX_SECOND_
#undef ADX_SECOND

// The limits of ad_real, as constants of type Number.
template <class Number> struct adx_limits : std::numeric_limits<ad_real>
{
    typedef std::numeric_limits<ad_real> real;
#define ADX_DEFINE(name)                                                    \
    static constexpr Number (name)() noexcept { return Number((real::name)()); }
    ADX_DEFINE(min) ADX_DEFINE(max) ADX_DEFINE(lowest) ADX_DEFINE(epsilon)
    ADX_DEFINE(round_error) ADX_DEFINE(infinity) ADX_DEFINE(quiet_NaN)
    ADX_DEFINE(signaling_NaN) ADX_DEFINE(denorm_min)
#undef ADX_DEFINE
};

} // namespace adrev

namespace std {
template <> class numeric_limits<adrev::ad_rev>
    : public adrev::adx_limits<adrev::ad_rev> { };
template <> class numeric_limits<adrev::ad_fwd>
    : public adrev::adx_limits<adrev::ad_fwd> { };
}

#if !ADX_FUSES
#pragma pop_macro("ADX_OPERAND")
#endif
#pragma pop_macro("ADX_NOTE_PLACE")

#endif // __cplusplus

#endif // ADREV_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_IMPLEMENTED
#define ADREV_IMPLEMENTED

#ifdef __cplusplus
#error "compile the file that defines ADREV_IMPLEMENTATION as C"
#endif

/* === tape/layout ============================================================
 * A recording is a sequence of entries. An entry is a header (16 bits) and some
 * operands. In a block, operands are written from the beginning upwards,
 * headers from the end downwards. A statement makes one value, whose id is its
 * place in the order of values; the id is not stored. Invariants:
 *
 *   - an entry lies in one block; the blocks of a tape are a list
 *   - id 0 is a sink: the operand of whatever is a constant
 *   - the tape current on a thread has its cursors in adx_now, any other in
 *     its own field `rest`
 *   - a failed tape has no room: nothing is ever recorded on it
 *
 *   needs   number/recording
 *   offers  ADX_OTHER ADX_INPUTS ADX_SITE ADX_DATA ADX_EXTENDED ADX_LEAP
 *           ADX_GAP ADX_LEAST ADX_BLOCK_MOST adx_site adx_failure
 *           ADX_SITE_OPERANDS adx_extended adx_rule adx_block adx_place
 *           adx_leap adx_annex adx_mine_rows adx_segment ADX_ENTRIES adx_live
 *           adx_has_fixed_memory adx_is_observed adx_has_forks adx_annex_of
 *           adx_bottom adx_top_of_block adx_open_bottom adx_gap adx_round_up
 *           ADX_JOB_BATCH ADX_JOB_BEYOND adx_next_job adx_take_jobs
 *           adx_new_job adx_fail_because adx_fail adx_failed
 * ========================================================================== */

#include <stdarg.h>
#ifndef ADREV_NO_STDLIB
#include <stdlib.h>
#endif
#if !defined ADREV_NO_THREADS && !defined __STDC_NO_ATOMICS__
#include <stdatomic.h>
#endif

/* --- layout -------------------------------------------------------------- */

// Headers. Without the bit ADX_OTHER: a statement; the bits of ADX_COUNT are
// its number of operands, and ADX_SUM may be set. Otherwise one of these, which
// are not such statements:
#define ADX_OTHER  0x200u   // set in all of the following
#define ADX_INPUTS 0x201u   // one operand, whose id is the number of inputs
#define ADX_SITE   0x202u   // ADX_SITE_OPERANDS operands hold an adx_site
#define ADX_DATA   0x203u   // bytes; ids of the first and the last operand: how
                            // many operands there are
#define ADX_EXTENDED 0x204u // likewise; the bytes begin with an adx_extended
#define ADX_LEAP   0x205u   // likewise; they are a pointer to an adx_leap
#define ADX_GAP    0x206u   // one operand, one value that is not used

// The shortest statement: what a value costs at least.
#define ADX_LEAST (sizeof(uint16_t) + sizeof(adx_operand))

// Blocks grow up to this many bytes, unless one entry is larger.
#define ADX_BLOCK_MOST ((size_t)1 << 28)

typedef struct adx_site {
    const char *file;
    ad_real value;          // between the others it fills padding
    int line;
} adx_site;

// What is known of the failure of a tape, besides its status.
typedef struct adx_failure {
    const char *file;
    const char *why;        // NULL: as the status says
    size_t missing;         // bytes of fixed memory
    int line;
} adx_failure;

#define ADX_SITE_OPERANDS                                                   \
    ((sizeof(adx_site) + sizeof(adx_operand) - 1) / sizeof(adx_operand))

// A statement that is not a list of partials: external, or over arrays. Its
// rule serves W directions at once, as a sweep does. False: a function of the
// user's failed.
typedef struct adx_extended adx_extended;
typedef struct adx_rule {
    const char *name;       // an array of its own: compilers put the strings of
                            // all constants together, and keep all or none
    bool (*reverse)(const adx_extended *e, ad_real adj[], ad_real scratch[],
                    size_t W);
    bool (*forward)(const adx_extended *e, ad_real tan[], ad_real scratch[],
                    size_t W);
    void (*destroy)(const adx_extended *e);     // or NULL
} adx_rule;

struct adx_extended {
    _Alignas(8) const adx_rule *rule;   // numbers may stand behind it
    adx_extended *before;           // the previous one whose rule has destroy
    adx_operand *site;              // its entry; NULL without ADREV_DEBUG
    size_t first;                   // id of its first value
    size_t values;
    size_t operands;
    bool care;                      // a partial is not finite
};

typedef struct adx_block {
    _Alignas(8) struct adx_block *prev;
    struct adx_block *next;
    adx_operand *op;        // op, head: where the recording left this block
    uint16_t *head;
    size_t bytes;           // of memory behind this struct, a multiple of 8
} adx_block;

// A place between two entries.
typedef struct adx_place {
    const adx_block *block;
    const adx_operand *op;      // the next operand is written here
    const uint16_t *head;
    size_t seq;                 // values before
} adx_place;

// A stretch of the tape, between two entries ADX_LEAP, that belongs to others:
// a sweep leaves it out. A reverse sweep calls `reverse` at the second of the
// two and goes on before the first; a forward sweep calls `forward` at the
// first and goes on after the second.
typedef struct adx_leap adx_leap;
struct adx_leap {
    bool (*reverse)(adx_leap *leap, size_t W);
    bool (*forward)(adx_leap *leap, size_t W);
    adx_place before;
    adx_place after;
};

// What a header built upon this one adds to a tape: further tapes, with values
// of the same recording.
typedef struct adx_annex {
    // the id on t of a value that is known there; or 0
    uint64_t (*import)(ad_tape *t, uint64_t id);
    // the tape of a value that is not on t, if a sweep of t reaches it; or NULL
    const ad_tape *(*owner)(const ad_tape *t, ad_rev x);
    // the i-th further tape; or NULL
    ad_tape *(*further)(const ad_tape *t, size_t i);
    // makes room for the adjoints of all of them; false: no memory
    bool (*afford)(ad_tape *t, size_t W);
    void (*zero)(ad_tape *t, size_t W);
    void (*rewound)(ad_tape *t);
    void (*clear)(ad_tape *t);
    void (*free)(ad_tape *t);
} adx_annex;

// For a Jacobian on several threads (adrev_parallel.h): how many sweeps of rows
// this thread is in, one within the other, and how many statements
// (adrev_loop.h) it holds in them. Other sweeps of rows wait for such a
// statement. If this thread helped one of them it would wait for itself. So
// while it holds a statement it helps nobody, and runs all forks itself.
typedef struct adx_rowing {
    size_t rows;
    size_t statements;
} adx_rowing;

static ADX_THREAD adx_rowing adx_mine_rows ADX_UNUSED;

// The values with ids above `begin`, up to the `begin` of the next segment,
// belong to this job. Only a rewind, or ad_grad and its kin, begins a further
// segment. `begin` cannot tell apart places between which entries make no
// values; the number of entries does. Some of its bits suffice: 2^30 entries
// without a value take 15 GB.
typedef struct adx_segment {
    uint32_t job;
    uint32_t begin;
    uint32_t entries : 31;      // before it
    uint32_t session : 1;       // of ad_grad: marks in it are not of an older
                                // segment
} adx_segment;

#define ADX_ENTRIES 0x7fffffffu

// Is told that the value v, with the id `id`, is what an operation makes of a,
// b and c, all of the tape's newest segment. If the operation has fewer than
// three arguments, the missing ones repeat a. Returns that value.
typedef ad_rev adx_observer(void *user, ad_opcode code, ad_rev a, ad_rev b,
                            ad_rev c, ad_real v, uint32_t id);

struct ad_tape {
    _Alignas(8) adx_context rest;   // while it is not current; with
                                    // ADREV_FIXED always
#if !ADREV_FIXED
    adx_context *live;              // rest, or the thread's adx_now
#endif
    adx_block *first;
    adx_block *block;               // the one being written
#if !ADREV_FIXED
    ad_real *adjoint;               // for the sweeps; not in fixed memory
    size_t adjoint_count;
#endif
    size_t bytes;                   // bytes in blocks and adjoints
    size_t most;                    // the most bytes needed before a rewind
    size_t scratch;                 // further numbers that a sweep needs for
                                    // each direction
#if !ADREV_FIXED
    size_t open;                    // open forks: while there is one, the tape
                                    // is neither swept nor cleared, except the
                                    // part of it that ad_grad has recorded
    const adx_annex *annex;         // or NULL
    void *annexed;                  // the annex's own data
#endif
    adx_extended *last;             // the last one whose rule has destroy
    uint16_t *start;                // `head` before the first entry
    size_t lead;                    // values before the first entry: inputs
    ad_mark floor;                  // sweeps end here
#if !ADREV_FIXED
    adx_observer *observer;         // set: a function is recorded, and the tape
                                    // is not swept. Its user is the hooks'
#endif
    uint16_t *sealed;               // a mark stands at this head: inputs after
                                    // it need a new entry
#if ADREV_FIXED
    uint32_t next_job;              // of this tape's batch
#else
    ad_allocator allocator;         // alloc NULL: fixed memory
    ad_hooks hooks;
#endif
    adx_failure failure;
    ad_status status;
    bool one_way;                   // a statement cannot go forward
    bool calls;                     // a sweep may call the user's functions
    bool always;                    // there is a statement with `always`
    bool selective;                 // sweeps may leave it out: it takes no such
                                    // statement
    bool stops;                     // fails at a number that is not finite
    bool alone;                     // all of the recording shall be on this
                                    // tape
    uint32_t segments;
    adx_segment segment[ADREV_MARKS + 1];
};

ADX_STATIC_ASSERT(offsetof(ad_rev, job) == offsetof(ad_rev, seq) + 4,
                  "an id is 8 bytes");
ADX_STATIC_ASSERT(sizeof(adx_block) % 8 == 0, "operands start aligned");
ADX_STATIC_ASSERT(sizeof(ad_tape) % 8 == 0, "the block behind it, too");

#ifndef ADREV_STATIC
const char ADX_ALIKE = 0;
#if ADREV_FIXED
adx_context adx_none;
#ifndef ADREV_CURRENT
ADX_THREAD adx_context *adx_current = &adx_none;
#endif
#else
ADX_THREAD adx_context adx_now;
#endif
#if ADREV_COUNT
ADX_THREAD ad_count_both ad_counts;
#endif
#endif

// What tapes have that grow, and others do not.
#if ADREV_FIXED
static inline adx_context *adx_live(const ad_tape *t)
{
    return (adx_context *)(uintptr_t)&t->rest;
}
static inline bool adx_has_fixed_memory(const ad_tape *t)
{
    (void)t;
    return true;
}
static inline bool adx_is_observed(const ad_tape *t) { (void)t; return false; }
static inline bool adx_has_forks(const ad_tape *t) { (void)t; return false; }
static inline const adx_annex *adx_annex_of(const ad_tape *t)
{
    (void)t;
    return NULL;
}
#else
static inline adx_context *adx_live(const ad_tape *t) { return t->live; }
static inline bool adx_has_fixed_memory(const ad_tape *t)
{
    return t->allocator.alloc == NULL;
}
static inline bool adx_is_observed(const ad_tape *t)
{
    return t->observer != NULL;
}
static inline bool adx_has_forks(const ad_tape *t) { return t->open > 0; }
static inline const adx_annex *adx_annex_of(const ad_tape *t)
{
    return t->annex;
}
#endif

static const adx_operand *adx_bottom(const adx_block *b)
{
    return (const adx_operand *)(b + 1);
}

static const uint16_t *adx_top_of_block(const adx_block *b)
{
    return (const uint16_t *)((const char *)(b + 1) + b->bytes);
}

// The bottom of a block that is written.
static adx_operand *adx_open_bottom(adx_block *b)
{
    return (adx_operand *)(b + 1);
}

static size_t adx_gap(const adx_context *c)
{
    return (size_t)((char *)c->head - (char *)c->op);
}

static size_t adx_round_up(size_t bytes) { return (bytes + 7) / 8 * 8; }

/* --- jobs -------------------------------------------------------------------
 * A job number is used only once, out of nearly 2^32 per process. So a value of
 * an earlier recording is never mistaken for one of a later recording. Threads
 * take the numbers in batches: an atomic operation per recording would cost as
 * much as a small gradient. When all have been used, numbers come again.     */

#define ADX_JOB_BATCH (ADREV_FIXED ? 256u : 4096u)

// A number that no job has: that of what lies behind the arrays that a function
// is given (sweep/session).
#define ADX_JOB_BEYOND (0u - ADX_JOB_BATCH)

#if !defined ADREV_NO_THREADS && !defined __STDC_NO_ATOMICS__
static _Atomic uint32_t adx_jobs;
#define ADX_TAKE_JOBS() atomic_fetch_add(&adx_jobs, ADX_JOB_BATCH)
#elif defined __GCC_ATOMIC_INT_LOCK_FREE && __GCC_ATOMIC_INT_LOCK_FREE == 2 \
    && __SIZEOF_INT__ == 4
static unsigned adx_jobs;       // interrupts take numbers, too
#define ADX_TAKE_JOBS()                                                     \
    __atomic_fetch_add(&adx_jobs, ADX_JOB_BATCH, __ATOMIC_RELAXED)
#else
static uint32_t adx_jobs;
#define ADX_TAKE_JOBS() ((adx_jobs += ADX_JOB_BATCH) - ADX_JOB_BATCH)
#endif

// Private copies of the library count separately, each from another origin.
#ifdef ADREV_STATIC
#define ADX_JOB_ORIGIN                                                      \
    ((uint32_t)((uintptr_t)&adx_jobs / 4 * 2654435761u) / ADX_JOB_BATCH     \
     * ADX_JOB_BATCH)
#else
#define ADX_JOB_ORIGIN 0
#endif

// With ADREV_FIXED each tape has a batch of its own, so that an interrupt that
// records on another one finds nothing half done.
#if ADREV_FIXED
#define ADX_NEXT_JOB(t) ((t)->next_job)
#else
static ADX_THREAD uint32_t adx_next_job;
#define ADX_NEXT_JOB(t) adx_next_job
#endif

static uint32_t adx_take_jobs(void)
{
    uint32_t first = ADX_TAKE_JOBS() + ADX_JOB_ORIGIN;
    if (ADREV_FIXED)        // multiples of the batch are no jobs (adx_new_job)
        return first;
    return first == ADX_JOB_BEYOND ? ADX_TAKE_JOBS() + ADX_JOB_ORIGIN : first;
}

static uint32_t adx_new_job(ad_tape *t)
{
    // Multiples of the batch are left out, 0 among them.
    (void)t;
    if (ADX_NEXT_JOB(t) % ADX_JOB_BATCH == 0)
        ADX_NEXT_JOB(t) = adx_take_jobs() + 1;
    return ADX_NEXT_JOB(t)++;
}

/* --- failure ------------------------------------------------------------- */

// Marks the tape as failed; the first error stays. From here on the tape has no
// room. Every failure comes through here, so a debugger can stop at it
// (docs/debugging.md).
ADX_COLD static void adx_fail_because(ad_tape *t, ad_status status,
                                      const char *why)
{
    adx_context *c = adx_live(t);
    if (t->status == ADREV_OK) {
        t->status = status;
        t->failure = (adx_failure){ c->file, why, 0, c->line };
    }
    c->reserved = ADREV_FIXED ? SIZE_MAX / 2 : adx_gap(c);
}

static void adx_fail(ad_tape *t, ad_status status)
{
    adx_fail_because(t, status, NULL);
}

ADX_API ad_status ad_fail(ad_status status, const char *why)
{
    if (adx_now.tape == NULL || status == ADREV_OK)
        return status;
    adx_fail_because(adx_now.tape, status, why);
    return adx_now.tape->status;
}

// Fails the current tape, if there is one. Returns the first error.
static ad_status adx_failed(ad_status status) { return ad_fail(status, NULL); }

ADX_API ad_status ad_tape_status(const ad_tape *t)
{
    return t == NULL ? ADREV_ENOTAPE : t->status;
}

#define ADX_TEXT(name, text) text,
ADX_API const char *ad_message(ad_status status)
{
    static const char *const texts[] = { ADREV_STATUS_TABLE(ADX_TEXT) };
    return (unsigned)status < ADREV_STATUS_COUNT ? texts[status]
                                                 : "not a status of adrev";
}
#undef ADX_TEXT

ADX_API void ad_tape_failed_at(const ad_tape *t, const char **file, int *line)
{
    *file = t == NULL ? NULL : t->failure.file;
    *line = t == NULL ? 0 : t->failure.line;
}

ADX_API const char *ad_tape_reason(const ad_tape *t)
{
    ad_status status = ad_tape_status(t);
    bool more = t != NULL && status != ADREV_OK && t->failure.why != NULL;
    return more ? t->failure.why : ad_message(status);
}

ADX_API size_t ad_tape_missing(const ad_tape *t)
{
    return ad_tape_status(t) == ADREV_EFULL ? t->failure.missing : 0;
}

/* === tape/memory ============================================================
 * Room for what is recorded: blocks that are added as needed, or the user's
 * fixed memory. Memory from allocators.
 *
 * What an evaluation gives back is kept for the next one, so that evaluations
 * in a row allocate nothing. If two run at a time, the second one allocates
 * memory of its own.
 *
 *   needs   number/recording tape/layout
 *   offers  adx_admit adx_settle adx_settle_room adx_enter_block adx_alloc
 *           adx_free adx_add_block adx_next_block adx_make_room adx_grow
 *           adx_libc adx_is_allocator adx_allocator_or adx_size_plus
 *           adx_size_times adx_magnitude ADX_MOST_ELEMENTS adx_no_array
 *           adx_spread_of adx_take adx_drop adx_extend ADX_LINE adx_align
 *           adx_workspace adx_spare adx_take_workspace adx_give_workspace
 *           adx_drop_spare
 * ========================================================================== */

#if !ADREV_FIXED
// How many bytes of the gap may be written before this is asked again. Fixed
// memory keeps an adjoint for each value free in the gap, of which the test in
// adx_room knows nothing. That test stays correct because it sees only a part
// of the gap, one that suffices whatever is recorded there; when this part is
// used up, the next one is computed. At the very end that happens for every
// statement, so nothing is wasted.
static size_t adx_usable_bytes(const ad_tape *t, const adx_context *c)
{
    size_t usable = adx_gap(c);
    size_t left = ADREV_VALUES - c->seq;

    if (adx_has_fixed_memory(t)) {
        size_t adjoints = (c->seq + 2 + t->scratch) * sizeof(ad_real) + 8;
        size_t free = usable > adjoints ? usable - adjoints : 0;
        usable = free / (ADX_LEAST + sizeof(ad_real)) * ADX_LEAST;
    }
    return usable / ADX_LEAST > left ? left * ADX_LEAST : usable;
}
#endif

// Bytes that an entry with these operands and values needs in the gap of fixed
// memory, together with all adjoints. Without operands: that further values of
// the last entry need.
static size_t adx_need_of(const ad_tape *t, const adx_context *c,
                          size_t operands, size_t values)
{
    size_t data = operands * sizeof(adx_operand);
    size_t bottom = (size_t)((const char *)c->op - (const char *)t) + data;
    return (operands == 0 ? 0 : sizeof(uint16_t) + data)
         + adx_round_up(bottom) - bottom
         + (values + c->seq + 1 + t->scratch) * sizeof(ad_real);
}

// Whether such an entry fits exactly.
static bool adx_fits_exactly(const ad_tape *t, const adx_context *c,
                             size_t operands, size_t values)
{
    size_t gap = adx_gap(c);
    if (adx_has_fixed_memory(t))
        return gap >= adx_need_of(t, c, operands, values);
    size_t data = operands * sizeof(adx_operand);
    return gap >= (operands == 0 ? 0 : sizeof(uint16_t) + data);
}

// Fails: fixed memory is too small for such an entry. It would have to grow by
// `missing` bytes, a multiple of 8.
static void adx_fail_full(ad_tape *t, const adx_context *c, size_t operands,
                          size_t values)
{
    bool first = t->status == ADREV_OK;
    size_t need = adx_need_of(t, c, operands, values);
    adx_fail(t, ADREV_EFULL);
    if (first && values <= ADREV_VALUES && need > adx_gap(c))
        t->failure.missing = adx_round_up(need - adx_gap(c));
}

// Whether so many values and such an entry may be added. If not, the tape
// fails.
static bool adx_admit(ad_tape *t, adx_context *c, size_t operands,
                      size_t values)
{
    if (values > ADREV_VALUES - c->seq)
        adx_fail(t, ADREV_ELIMIT);
    else if (adx_fits_exactly(t, c, operands, values))
        return true;
    else
        adx_fail_full(t, c, operands, values);
    return false;
}

#if ADREV_FIXED
// Says what is reserved in the gap, besides an adjoint for each value: adjoints
// of the sink and of the next value, and what aligns them.
static void adx_settle(ad_tape *t, adx_context *c)
{
    c->reserved = t->status != ADREV_OK ? SIZE_MAX / 2
                : (t->scratch + 2) * sizeof(ad_real)
                  + (sizeof(adx_operand) % 8 == 0 ? 0 : 4);
}

static bool adx_settle_room(ad_tape *t, adx_context *c, size_t need)
{
    return adx_fits_exactly(t, c, need / sizeof(adx_operand), 1);
}
#else
// Opens as much of the gap as is safe, and at least `need` if that fits. False:
// it does not fit.
static bool adx_settle_exactly(ad_tape *t, adx_context *c, size_t need)
{
    size_t usable = adx_usable_bytes(t, c);
    bool enough = usable >= need;

    if (!enough) {
        enough = adx_fits_exactly(t, c, need / sizeof(adx_operand), 1);
        usable = enough ? need : usable;
    }
    if (c->trace || t->status != ADREV_OK)
        usable = 0;
    c->reserved = adx_gap(c) - usable;
    return enough;
}

static inline bool adx_settle_room(ad_tape *t, adx_context *c, size_t need)
{
    if (adx_has_fixed_memory(t) || t->status != ADREV_OK || c->trace
        || adx_gap(c) > ADX_BLOCK_MOST
        || c->seq + ADX_BLOCK_MOST / ADX_LEAST >= ADREV_VALUES)
        return adx_settle_exactly(t, c, need);
    c->reserved = 0;            // nearly all tapes: the whole gap is safe
    return adx_gap(c) >= need;
}

static inline void adx_settle(ad_tape *t, adx_context *c)
{
    adx_settle_room(t, c, 0);
}
#endif

// Makes b the block that is written.
static void adx_enter_block(ad_tape *t, adx_context *c, adx_block *b)
{
    t->block = b;
    c->op = adx_open_bottom(b);
    c->head = (uint16_t *)((char *)(b + 1) + b->bytes);
    t->start = b == t->first ? c->head : t->start;
}

#if !ADREV_FIXED
static void *adx_alloc(ad_tape *t, size_t bytes)
{
    void *p = t->allocator.alloc(bytes, t->allocator.user);
    t->bytes += p == NULL ? 0 : bytes;
    return p;
}

static void adx_free(ad_tape *t, void *p, size_t bytes)
{
    t->allocator.free(p, t->allocator.user);
    t->bytes -= bytes;
}

// A new block behind the current one, as large as all of them together.
static adx_block *adx_add_block(ad_tape *t, size_t need)
{
    size_t bytes = t->first == NULL ? ADREV_BLOCK : t->bytes;
    if (bytes > ADX_BLOCK_MOST)
        bytes = ADX_BLOCK_MOST;
    if (bytes < need)
        bytes = need;
    bytes = adx_round_up(bytes);

    adx_block *b = (adx_block *)adx_alloc(t, sizeof *b + bytes);
    if (b == NULL)
        return NULL;
    b->bytes = bytes;
    b->prev = t->block;
    b->next = t->block == NULL ? NULL : t->block->next;
    if (b->next != NULL)
        b->next->prev = b;
    if (b->prev != NULL)
        b->prev->next = b;
    else
        t->first = b;
    return b;
}

// The block behind the current one, if it is large enough, or a new one; NULL:
// no memory.
static adx_block *adx_next_block(ad_tape *t, size_t need)
{
    adx_block *b = t->block == NULL ? NULL : t->block->next;
    return b != NULL && b->bytes >= need ? b : adx_add_block(t, need);
}

// Goes to the next block; false: no memory.
static bool adx_begin_block(ad_tape *t, adx_context *c, size_t need)
{
    adx_block *b = adx_next_block(t, need);
    if (b == NULL) {
        adx_fail(t, ADREV_ENOMEM);
        return false;
    }
    if (t->block != NULL) {
        t->block->op = c->op;
        t->block->head = c->head;
    }
    adx_enter_block(t, c, b);
    return adx_settle_room(t, c, need);
}
#endif

// Makes room for an entry in this block or in the next. `values` is how many it
// makes; fixed memory needs room for one even if it makes none.
ADX_INLINE bool adx_make_room(ad_tape *t, adx_context *c, size_t need,
                              size_t values)
{
#if ADREV_FIXED
    return (ADREV_VALUES >= (uint32_t)1 << 31
            && adx_room(need + values * sizeof(ad_real)))
        || adx_admit(t, c, need / sizeof(adx_operand), values + (values == 0));
#else
    if (c->seq >= ADREV_VALUES) {
        adx_fail(t, ADREV_ELIMIT);
        return false;
    }
    if (t->block != NULL && adx_settle_room(t, c, need))
        return true;
    if (!adx_has_fixed_memory(t))
        return adx_begin_block(t, c, need);
    adx_fail_full(t, c, need / sizeof(adx_operand), values + (values == 0));
    return false;
#endif
}

// Makes room for a statement on the current tape. False: there is no tape, or
// it has failed.
ADX_COLD static bool adx_grow(size_t need)
{
    ad_tape *t = adx_now.tape;
    if (t == NULL || t->status != ADREV_OK)
        return false;
    if (ADX_TRACED) {
        adx_fail_because(t, ADREV_EHOOK, "code that was compiled without "
                         "ADREV_TRACE records while operations are traced");
        return false;
    }
    return adx_make_room(t, &adx_now, need, 1);
}

#if !defined ADREV_NO_STDLIB && !ADREV_FIXED
static void *adx_malloc(size_t bytes, void *user)
{
    (void)user;
    return malloc(bytes);
}

static void adx_libc_free(void *block, void *user)
{
    (void)user;
    free(block);
}

static const ad_allocator adx_libc = { adx_malloc, adx_libc_free, NULL };
#endif

static inline bool adx_is_allocator(const ad_allocator *a)
{
    return a != NULL && a->alloc != NULL && a->free != NULL;
}

// The allocator that is given, or that of the C library; NULL: there is none.
static inline const ad_allocator *adx_allocator_or(const ad_allocator *a)
{
    if (adx_is_allocator(a))
        return a;
#if defined ADREV_NO_STDLIB || ADREV_FIXED
    return NULL;
#else
    return &adx_libc;
#endif
}

// Lengths come from the caller, and their sums and products must not wrap.
// These stop at SIZE_MAX, more than any memory or array has.
static inline size_t adx_size_plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

// (The product of two half words fits: mostly nothing is divided, which takes
// long, and on some processors a function.)
static inline size_t adx_size_times(size_t a, size_t b)
{
    const bool half = (a | b) >> 4 * sizeof a == 0;
    return !half && b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

static inline size_t adx_magnitude(ptrdiff_t stride)
{
    return stride < 0 ? 0 - (size_t)stride : (size_t)stride;
}

// The most elements of an array. At most 64 bytes are stored for each element,
// so the bytes of all fit into a size_t.
#define ADX_MOST_ELEMENTS (SIZE_MAX / 64)

// Whether an array of n elements is impossible or missing.
ADX_INLINE bool adx_no_array(size_t n, const void *x)
{
    return n > ADX_MOST_ELEMENTS || (n > 0 && x == NULL);
}

// Of a matrix with strides: how many elements it has, or how many lie between
// its first and its last one, whichever is more.
static inline size_t adx_spread_of(size_t rows, ptrdiff_t rs, size_t cols,
                                   ptrdiff_t cs)
{
    if (rows == 0 || cols == 0)
        return 0;
    size_t between = adx_size_plus(adx_size_times(rows - 1, adx_magnitude(rs)),
                              adx_size_times(cols - 1, adx_magnitude(cs)));
    size_t n = adx_size_times(rows, cols);
    return n > between ? n : between;
}

// Bytes of n objects, and one more; SIZE_MAX: more than there can be.
static inline size_t adx_room_of(size_t n, size_t size)
{
    return n > SIZE_MAX / 4 / (size + 1) ? SIZE_MAX : n * size + 1;
}

// Memory for the other headers: n*size bytes and one more; NULL: none.
static inline void *adx_take(const ad_allocator *a, size_t n, size_t size)
{
    size_t bytes = adx_room_of(n, size);
    return bytes == SIZE_MAX ? NULL : a->alloc(bytes, a->user);
}

static inline void adx_drop(const ad_allocator *a, void *p)
{
    if (p != NULL)
        a->free(p, a->user);
}

// Whether memory is the C library's, so that realloc is allowed. Not if a
// program has replaced malloc alone by a macro.
static inline bool adx_is_library(const ad_allocator *a)
{
#if !defined ADREV_NO_STDLIB && !ADREV_FIXED                                \
    && (!defined malloc || defined realloc)
    return a->alloc == adx_malloc;
#else
    (void)a;
    return false;
#endif
}

// Moves the n objects of `old` to room for `more`; NULL: no memory, and `old`
// stays. The C library moves pages instead of their contents. (bench:
// recording, first, 10^6 operations, 0.78.)
static inline void *adx_retake(const ad_allocator *a, void *old, size_t n,
                               size_t more, size_t size)
{
#if !defined ADREV_NO_STDLIB && !ADREV_FIXED
    if (adx_is_library(a)) {
        size_t bytes = adx_room_of(more, size);
        return bytes == SIZE_MAX ? NULL : realloc(old, bytes);
    }
#endif
    void *wide = adx_take(a, more, size);
    if (wide != NULL && old != NULL) {
        memcpy(wide, old, n * size);
        adx_drop(a, old);
    }
    return wide;
}

// Makes an array longer. Small arrays in the C library's memory grow by a
// factor of four: the memory that each leaves behind was written for nothing,
// and new memory costs more than all the rest, but only once it is written.
// (bench: recording, first, 10^5 operations, 0.67.)
ADX_NOINLINE static bool adx_lengthen(const ad_allocator *a, void **array,
                                      size_t *room, size_t n, size_t size)
{
    bool small = n < ((size_t)1 << 24) / size && adx_is_library(a);
    size_t more = (small ? 4 : 2) * n + 8;
    void *wide = adx_retake(a, *array, *room, more, size);
    if (wide == NULL)
        return false;
    *array = wide;
    *room = more;
    return true;
}

// Makes room for n objects in an array that has *room now; false: no memory.
static inline bool adx_extend(const ad_allocator *a, void **array,
                              size_t *room, size_t n, size_t size)
{
    return n <= *room || adx_lengthen(a, array, room, n, size);
}

/* --- memory that is kept -------------------------------------------------- */

#ifndef __STDC_NO_ATOMICS__
#include <stdatomic.h>

#define ADX_LINE (64 / sizeof(ad_real))     // numbers of a line of the cache

// Lanes begin with a line: vectors that cross two lines take longer. (bench:
// gmm-d10, replay, 0.77.)
static ADX_UNUSED ad_real *adx_align(ad_real *p)
{
    return p + (64 - (uintptr_t)p % 64) % 64 / sizeof *p;
}

typedef struct adx_workspace {
    size_t size;                // numbers
    size_t lanes;               // of the replay whose constants are in it, or 0
    ad_real *w;                 // in `memory`
    ad_real memory[];
} adx_workspace;

typedef _Atomic(adx_workspace *) adx_spare;     // NULL: there is none

// Takes the workspace that is kept, if it is large enough, or a new one; NULL:
// no memory.
static ADX_UNUSED adx_workspace *adx_take_workspace(adx_spare *spare,
                                         const ad_allocator *a, size_t size)
{
    // acquire: pairs with the release in adx_give_workspace, which makes the
    // constants in it visible.
    adx_workspace *work = atomic_exchange_explicit(spare, NULL,
                                                   memory_order_acquire);
    if (work != NULL && work->size >= size)
        return work;
    adx_drop(a, work);
    if (size > SIZE_MAX / 16 / sizeof *work->w)
        return NULL;
    work = (adx_workspace *)adx_take(a, sizeof *work
                                     + (size + ADX_LINE) * sizeof *work->w, 1);
    if (work == NULL)
        return NULL;
    work->size = size;
    work->lanes = 0;
    work->w = adx_align(work->memory);
    return work;
}

// Keeps a workspace, in place of one that is kept.
static ADX_UNUSED void adx_give_workspace(adx_spare *spare,
                                          const ad_allocator *a,
                                          adx_workspace *work)
{
    // release: pairs with the acquire in adx_take_workspace.
    adx_drop(a, atomic_exchange_explicit(spare, work, memory_order_acq_rel));
}

// relaxed: nobody else has the function any more.
static ADX_UNUSED void adx_drop_spare(adx_spare *spare, const ad_allocator *a)
{
    adx_drop(a, atomic_exchange_explicit(spare, NULL, memory_order_relaxed));
}

#endif

/* === tape/entries ===========================================================
 * Entries that are not statements: inputs, places in the source, and arbitrary
 * bytes.
 *
 *   needs   number/recording tape/layout tape/memory
 *   offers  adx_entry adx_payload adx_ahead adx_look_ahead adx_drop_next
 *           adx_add_bytes adx_destroy adx_stop_at adx_note_site
 *           adx_add_leading_inputs adx_add_inputs adx_name_run
 * ========================================================================== */

// Appends an entry that makes `values` values. Returns its operands, which the
// caller writes; NULL: the tape has failed.
ADX_INLINE adx_operand *adx_entry(adx_context *c, unsigned header,
                                  size_t operands, size_t values)
{
    ad_tape *t = c->tape;
    size_t need = sizeof(uint16_t) + operands * sizeof(adx_operand);

    if (t->status != ADREV_OK || !adx_make_room(t, c, need, values)
        || (!ADREV_FIXED && !adx_admit(t, c, operands, values)))
        return NULL;
    c->op += operands;
    *--c->head = (uint16_t)header;
    c->seq += values;
    if (!ADREV_FIXED)
        adx_settle(t, c);
    return c->op - operands;
}

// The payload of an entry: bytes aligned to 16. The operand before it and the
// one behind it hold the same count of operands, so that the entry is found
// from both ends.
static void *adx_payload(const adx_operand *first)
{
    uintptr_t at = (uintptr_t)(first + 1);
    return (void *)((at + 15) / 16 * 16);
}

static size_t adx_operands_for(size_t bytes)
{
    return 2 + (bytes + 15 + sizeof(adx_operand) - 1) / sizeof(adx_operand);
}

// Where the next entry will lie, if its payload has so many bytes.
typedef struct adx_ahead {
    void *payload;          // NULL: that is not known beforehand
    void *behind;           // free room behind the entry, aligned
    adx_block *added;       // a block made for it, or NULL; nobody needs it if
                            // the entry is not written after all
} adx_ahead;

// Finds that place for a payload of `bytes`, with `beyond` free bytes behind
// it.
static ADX_UNUSED adx_ahead adx_look_ahead(size_t bytes, size_t beyond)
{
    ad_tape *t = adx_now.tape;
    size_t operands = adx_operands_for(bytes);
    size_t need = sizeof(uint16_t) + operands * sizeof(adx_operand);
    size_t all = need + sizeof(adx_operand) + 15 + beyond;
    adx_ahead ahead = { NULL, NULL, NULL };
    adx_operand *first = NULL;

    if (t->block == NULL)
        return ahead;
    if (adx_settle_room(t, &adx_now, need))
        first = adx_room(all) ? adx_now.op : NULL;
#if !ADREV_FIXED
    else if (!adx_has_fixed_memory(t)) {
        adx_block *next = t->block->next;
        if (next == NULL || next->bytes < need)
            next = ahead.added = adx_add_block(t, all);
        first = next == NULL || next->bytes < all ? NULL
              : adx_open_bottom(next);
    }
#endif
    if (first != NULL) {
        ahead.payload = adx_payload(first);
        ahead.behind = adx_payload(first + operands);
    }
    return ahead;
}

// Frees the block behind the current one; nothing is in it.
static ADX_UNUSED void adx_drop_next(ad_tape *t)
{
#if ADREV_FIXED
    (void)t;                // nobody added one
#else
    adx_block *b = t->block->next;
    t->block->next = b->next;
    if (b->next != NULL)
        b->next->prev = t->block;
    adx_free(t, b, sizeof *b + b->bytes);
#endif
}

// Appends an entry with a payload. Returns the payload; NULL: the tape failed.
static void *adx_add_bytes(adx_context *c, unsigned header, size_t bytes,
                           size_t values)
{
    size_t operands = adx_operands_for(bytes);

    if (bytes > SIZE_MAX / 4 || operands > ADREV_VALUES) {
        adx_fail(c->tape, ADREV_ELIMIT);
        return NULL;
    }
    adx_operand *first = adx_entry(c, header, operands, values);
    if (first == NULL)
        return NULL;
    first->d = 0;
    first->id = (uint32_t)operands;
    first[operands - 1].d = 0;
    first[operands - 1].id = (uint32_t)operands;
    return adx_payload(first);
}

// Calls destroy for the statements whose values are above seq: they leave the
// tape.
static void adx_destroy(ad_tape *t, size_t seq)
{
    while (t->last != NULL && t->last->first > seq) {
        const adx_extended *e = t->last;
        t->last = e->before;
        e->rule->destroy(e);
    }
}

// Fails a tape that stops at values like this one, which is about to be
// recorded.
static void adx_stop_at(ad_real v)
{
    ad_tape *t = adx_now.tape;
    if (t != NULL && t->stops && v - v != 0)
        adx_fail(t, ADREV_ENONFINITE);
}

ADX_API void ad_tape_stop_nonfinite(ad_tape *t, bool stop)
{
    if (t != NULL)
        t->stops = stop;
}

// Writes the place in the source and the value of the statement that follows.
ADX_COLD static void adx_note_site(ad_real v)
{
    adx_site site = { adx_now.file, v, adx_now.line };
    adx_operand *op = NULL;

    adx_stop_at(v);
    if (adx_now.tape != NULL)
        op = adx_entry(&adx_now, ADX_SITE, ADX_SITE_OPERANDS, 0);
    if (op != NULL)
        memcpy(op, &site, sizeof site);
}

// Whether n values without an entry fit, for certain. c is the current context.
static inline bool adx_have_room(const ad_tape *t, const adx_context *c,
                                 size_t n)
{
#if ADREV_FIXED
    (void)t; (void)c;
    return adx_room(n * sizeof(ad_real));
#else
    return c->reserved == 0 && !adx_has_fixed_memory(t)
        && c->seq + n <= ADX_BLOCK_MOST;
#endif
}

// Adds n inputs at the start of a recording, where they need no entry. False,
// and nothing done: there is an entry already, or something might go wrong
// (little room, a limit).
ADX_FAST bool adx_add_leading_inputs(ad_tape *t, adx_context *c, size_t n)
{
    if (c->head != t->start || !adx_have_room(t, c, n)
        || ADREV_VALUES < (uint32_t)1 << 31)
        return false;
    t->lead += n;
    c->seq += n;
    return true;
}

// Adds n inputs without a new entry: to the inputs at the start of a recording,
// or to the last entry if that is one of inputs and no mark stands behind it.
static bool adx_extend_inputs(ad_tape *t, adx_context *c, size_t n)
{
    bool first = c->head == t->start;

    if (!first && (c->head == adx_top_of_block(t->block)
                   || *c->head != ADX_INPUTS || c->head == t->sealed))
        return false;
    if (!adx_admit(t, c, 0, n))
        return false;
    if (first)
        t->lead += n;
    else
        c->op[-1].id += (uint32_t)n;
    c->seq += n;
    if (t->block != NULL && !ADREV_FIXED)
        adx_settle(t, c);
    return true;
}

// Adds n inputs by whichever way is possible. Returns the id of the first; 0:
// no room.
ADX_APART size_t adx_enter_inputs(adx_context *c, size_t n)
{
    size_t first = c->seq + 1;

    if (adx_extend_inputs(c->tape, c, n))
        return first;
    adx_operand *op = adx_entry(c, ADX_INPUTS, 1, n);
    if (op == NULL)
        return 0;
    op->d = 0;
    op->id = (uint32_t)n;
    return first;
}

// Adds n inputs. Returns the id of the first; 0: no tape, or it has failed.
ADX_FAST size_t adx_add_inputs(adx_context *c, size_t n)
{
    if (c->tape == NULL || c->tape->status != ADREV_OK || n == 0)
        return 0;
    return adx_add_leading_inputs(c->tape, c, n) ? c->seq - n + 1
                                                 : adx_enter_inputs(c, n);
}

#if defined __AVX2__ && defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define ADX_WEAVE 1
typedef uint64_t adx_words __attribute__((vector_size(32),
                                          aligned(sizeof(ad_real)), may_alias));
#endif
#endif

// Writes n values with consecutive ids. Each loop hides a pointer from the
// compiler, so that it is compiled as written: gcc's vector loops write numbers
// in halves, and cache lines from the end. (Of its time: 0.3 in a cache, 0.67
// in memory.)
ADX_APART void adx_name_run(size_t n, const ad_real x[], ad_rev out[],
                            uint64_t id)
{
#ifdef ADX_WEAVE
    bool odd = ((uintptr_t)out & 16) != 0;      // a pair must not span 2 lines
    if (odd && n > 0) {
        adx_name(out++, *x++, id++);
        n--;
    }
    adx_words ids = { id, id + 1, id + 2, id + 3 };
    for (; sizeof *out == 16 && n >= 4; n -= 4, x += 4, out += 4, ids += 4) {
        adx_words v = *(const adx_words *)x;
        *(adx_words *)out = __builtin_shufflevector(v, ids, 0, 4, 1, 5);
        ADX_OPAQUE(out);
        *(adx_words *)(out + 2) = __builtin_shufflevector(v, ids, 2, 6, 3, 7);
    }
    id = ids[0];
#endif
    for (; n > 0; n--, x++, out++, id++) {
        ADX_OPAQUE(out);
        adx_name(out, *x, id);
    }
}

#undef ADX_WEAVE

ADX_API void (ad_inputs)(size_t n, const ad_real x[], ad_rev out[])
{
    if (n > ADX_MOST_ELEMENTS) {
        adx_failed(ADREV_ESHAPE);
        return;
    }
    size_t first = adx_add_inputs(&adx_now, n);
    adx_job job = first == 0 ? 0 : adx_now.job;

    for (size_t i = 0; ADREV_DEBUG && first != 0 && i < n; i++)
        adx_stop_at(x[i]);
    if (!ADREV_FIXED && first != 0 && n > 8) {
        adx_name_run(n, x, out, adx_compound(job, first));
        return;
    }
    const size_t stride = first != 0;
    for (; n > 0; n--, x++, out++) {    // few: without a call (mul)
        ADX_OPAQUE(out);
        adx_name(out, *x, adx_compound(job, first));
        first += stride;
    }
}

ADX_API ad_rev (ad_input)(ad_real v)
{
    ad_rev x;
    (ad_inputs)(1, &v, &x);
    return x;
}

/* === tape/hooks =============================================================
 * Values of other recordings: imported by an annex, asked of the foreign hook,
 * or refused. Then the trace hook, and the observer of a function that is
 * recorded, which are told of operations and array statements.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries
 *   offers  adx_fetching_alone adx_segment_of adx_member adx_resolve
 *           adx_known_id adx_known adx_known_here adx_is_unswept
 * ========================================================================== */

#if !ADREV_FIXED
// Whether this thread is in the get of a store whose `agree` is missing, so
// that other processes, if there are any, may call it more or less often. A
// loop sets it (loop/resume), and ranks ask it (mpi/collectives), in whatever
// order the headers are included.
static ADX_THREAD bool adx_fetching_alone ADX_UNUSED;
#endif

// The newest segment that begins below seq: the one with this value.
static const adx_segment *adx_segment_of(const ad_tape *t, size_t seq)
{
    size_t i = t->segments - 1;
    while (i > 0 && t->segment[i].begin >= seq)
        i--;
    return &t->segment[i];
}

// Whether x was recorded on t and is still there.
static bool adx_member(const ad_tape *t, ad_rev x)
{
    return x.job != 0 && x.seq != 0 && x.seq <= adx_live(t)->seq
        && adx_segment_of(t, x.seq)->job == x.job;
}

// The id on the current tape of a value that may be of another job; 0: a
// constant, or the tape has failed.
static uint32_t adx_resolve(ad_rev x)
{
    ad_tape *t = adx_now.tape;
    if (x.job == 0 || t == NULL || t->status != ADREV_OK)
        return 0;
    if (adx_member(t, x))
        return x.seq;
    if (x.job == ADX_JOB_BEYOND) {
        adx_fail(t, ADREV_EBEYOND);
        return 0;
    }

    uint64_t known = adx_annex_of(t) == NULL ? 0
                   : adx_annex_of(t)->import(t, adx_compound(x.job, x.seq));
    if (known != 0)
        return (uint32_t)known;
    ad_rev y = x;
#if !ADREV_FIXED
    if (t->hooks.foreign != NULL && t->status == ADREV_OK)
        y = t->hooks.foreign(t->hooks.user, x);
#endif
    if (y.job != 0 && !adx_member(t, y))
        adx_fail(t, ADREV_EFOREIGN);
    return y.job == 0 || t->status != ADREV_OK ? 0 : y.seq;
}

#if ADREV_FIXED
// A compound id as one of the current tape; 0: a constant.
static uint64_t adx_known_id(uint64_t id)
{
    ad_rev x = { 0, (uint32_t)id, (uint32_t)(id >> 32) };
    return x.job == adx_now.job || adx_resolve(x) != 0 ? id : 0;
}
#else
// The value x under its id on the current tape; seq 0 makes it a constant.
static ad_rev adx_known(ad_rev x, uint32_t seq)
{
    x.seq = seq;
    x.job = seq == 0 ? 0 : adx_segment_of(adx_now.tape, seq)->job;
    return x;
}

// The value x as one of the current tape, whatever its job.
ADX_NOINLINE static ad_rev adx_known_elsewhere(ad_rev x)
{
    return adx_known(x, adx_resolve(x));
}

// The value x as one of the current tape. It is fast for a tape with one
// segment, to which nearly all values belong if there are no forks.
ADX_INLINE ad_rev adx_known_here(ad_rev x)
{
    const ad_tape *t = adx_now.tape;
    if (x.job != 0 && t != NULL && t->status == ADREV_OK && t->segments == 1
        && x.job == t->segment[0].job && x.seq - 1 < adx_now.seq)
        return x;
    return adx_known_elsewhere(x);
}

// A compound id as one of the current tape; 0: a constant.
static uint64_t adx_known_id(uint64_t id)
{
    ad_tape *t = adx_now.tape;
    if (id >> 32 == adx_now.job)
        return id;
    bool ask = t != NULL && adx_annex_of(t) != NULL && id >> 32 != 0
            && id >> 32 != ADX_JOB_BEYOND;
    uint64_t known = ask ? adx_annex_of(t)->import(t, id) : 0;
    if (known != 0)
        return known;
    ad_rev x = { 0, (uint32_t)id, (uint32_t)(id >> 32) };
    x = adx_known_here(x);
    return adx_compound(x.job, x.seq);
}

// How many arguments an operation has. (The table of core/exported says so,
// too, but with it come the texts of all operations.)
static unsigned adx_arity_of(ad_opcode code)
{
#define ADX_ARITY(name, n, ...) [ADREV_OP_##name] = n,
#define ADX_ARITY_STEP(name, ...) [ADREV_OP_##name] = 1,
#define ADX_ARITY_TEST(name, ...) [ADREV_OP_##name] = 2,
    static const unsigned char arity[ADREV_OP_COUNT] = {
        ADREV_OPS(ADX_ARITY) ADREV_STEPS(ADX_ARITY_STEP)
        ADREV_COMPARISONS(ADX_ARITY_TEST) [ADREV_OP_detach] = 1
    };
#undef ADX_ARITY
#undef ADX_ARITY_STEP
#undef ADX_ARITY_TEST
    return arity[code];
}

static void adx_tell_hook(ad_operation *told, ad_rev result)
{
    const ad_hooks *hooks = &adx_now.tape->hooks;
    told->result = result;
    told->file = adx_now.file;
    told->line = adx_now.line;
    hooks->trace(hooks->user, told);
}

// Whether a function is being recorded, so that nobody will sweep what comes
// now. Not within ad_grad and its kin, which sweep segments of their own.
static bool adx_is_unswept(const ad_tape *t)
{
    return !ADREV_DEBUG && adx_is_observed(t) && t->segments == 1;
}

// Prepares what the hook is told. Returns 0 if no argument is a variable.
ADX_INLINE uint32_t adx_begin_telling(ad_operation *told, ad_opcode code,
                                      unsigned n, ad_rev a, ad_rev b, ad_rev c)
{
    const ad_rev none = ADX_ZERO;
    uint32_t active = 0;
    told->code = code;
    told->arg[0] = a;
    told->arg[1] = n > 1 ? b : none;
    told->arg[2] = n > 2 ? c : none;
    for (unsigned i = 0; i < n; i++) {
        if (told->arg[i].job != adx_now.job)
            told->arg[i] = adx_known_elsewhere(told->arg[i]);
        active |= told->arg[i].seq;
    }
    return active;
}

ADX_INLINE ad_rev adx_end_telling(ad_operation *told, ad_real v, size_t seq)
{
    ad_rev y = { v, (uint32_t)seq, (uint32_t)adx_now.job };
    adx_tell_hook(told, y);
    return y;
}

// An operation that the hook is told of, and that is also recorded on the tape.
ADX_NOINLINE static ad_rev adx_traced_entry(ad_opcode code, ad_real v, ad_rev a,
                                            ad_real fa, ad_rev b, ad_real fb,
                                            ad_rev c, ad_real fc)
{
    const ad_real d[3] = { fa, fb, fc };
    unsigned n = adx_arity_of(code);
    ad_operation told;
    if (adx_begin_telling(&told, code, n, a, b, c) == 0)
        return adx_passive(v);
    if (ADREV_DEBUG)
        adx_note_site(v);
    adx_operand *op = adx_entry(&adx_now, n, n, 1);
    if (op == NULL)
        return adx_passive(v);
    for (unsigned i = 0; i < n; i++) {
        op[i].d = d[i];
        op[i].id = told.arg[i].seq;
    }
    return adx_end_telling(&told, v, adx_now.seq);
}

// An operation that nobody will sweep: on the tape it is an input, which takes
// no memory.
ADX_NOINLINE static ad_rev adx_observe_any(ad_opcode code, ad_real v, ad_rev a,
                                           ad_rev b, ad_rev c)
{
    unsigned n = adx_arity_of(code);
    ad_operation told;
    if (adx_begin_telling(&told, code, n, a, b, c) == 0)
        return adx_passive(v);
    size_t id = adx_add_inputs(&adx_now, 1);
    return id == 0 ? adx_passive(v) : adx_end_telling(&told, v, id);
}

// Most operations are told to the observer in registers and by a tail call,
// which keeps nothing on the stack. (bench: recording, 10^3 operations, 0.82.
// That they have no entry on the tape: 0.78 before that.)
ADX_INLINE ad_rev adx_trace(ad_opcode code, ad_real v, unsigned n, ad_rev a,
                            ad_real fa, ad_rev b, ad_real fb, ad_rev c,
                            ad_real fc)
{
    ad_tape *t = adx_now.tape;
    if (!adx_is_unswept(t))
        return adx_traced_entry(code, v, a, fa, b, fb, c, fc);
    b = n > 1 ? b : a;
    c = n > 2 ? c : a;
    if (a.job != adx_now.job || (n > 1 && b.job != adx_now.job)
        || (n > 2 && c.job != adx_now.job) || t->status != ADREV_OK
        || !adx_add_leading_inputs(t, &adx_now, 1))
        return adx_observe_any(code, v, a, b, c);
    return t->observer(t->hooks.user, code, a, b, c, v, (uint32_t)adx_now.seq);
}

// Not cold: functions are recorded by these, nearly always by the first two.
ADX_NOINLINE ADX_API ad_rev adx_traced_1(ad_opcode code, ad_real v, ad_rev a,
                                         ad_real fa)
{
    return adx_trace(code, v, 1, a, fa, a, 0, a, 0);
}

ADX_NOINLINE ADX_API ad_rev adx_traced_2(ad_opcode code, ad_real v, ad_rev a,
                                         ad_real fa, ad_rev b, ad_real fb)
{
    return adx_trace(code, v, 2, a, fa, b, fb, b, 0);
}

ADX_NOINLINE ADX_API ad_rev adx_traced(ad_opcode code, ad_real v, ad_rev a,
                                       ad_real fa, ad_rev b, ad_real fb,
                                       ad_rev c, ad_real fc)
{
    unsigned n = adx_arity_of(code);
    return adx_trace(code, v, n, a, fa, b, fb, c, fc);
}

// Refuses an expression that the hook was not told of.
ADX_COLD ADX_API void adx_refuse(void)
{
    if (adx_now.tape != NULL)
        adx_fail_because(adx_now.tape, ADREV_EHOOK, "an expression that was "
                         "made before operations were traced is recorded");
}

// Tells the hook of a comparison, a step or ad_value, whose result is a
// constant.
ADX_COLD ADX_API void adx_observed(ad_opcode code, ad_real v, ad_rev a,
                                   ad_rev b)
{
    const ad_rev none = ADX_ZERO;
    bool one = adx_arity_of(code) == 1;
    ad_operation told = { .code = code, .arg = {
        adx_known_here(a), one ? none : adx_known_here(b), none } };
    if ((told.arg[0].seq | told.arg[1].seq) != 0)
        adx_tell_hook(&told, adx_passive(v));
}

// Tells the hook of comparisons that say that k is the exponent of x.
ADX_API void adx_observed_exponent(ad_rev x, int k)
{
    bool below = x.v < 0;
    ad_real near = adm_ldexp(below ? -1 : 1, k - 1);
    if (x.v == 0 || x.v - x.v != 0) {
        adx_observed(ADREV_OP_eq, x.v == x.v, x, adx_passive(x.v));
        return;
    }
    adx_observed(below ? ADREV_OP_le : ADREV_OP_ge, 1, x, adx_passive(near));
    adx_observed(below ? ADREV_OP_gt : ADREV_OP_lt, 1, x,
                 adx_passive(2 * near));
}

ADX_API void ad_tape_hooks(ad_tape *t, const ad_hooks *hooks)
{
    static const ad_hooks none = {0};
    if (t == NULL)
        return;
    if (adx_is_observed(t)) {
        adx_fail_because(t, ADREV_EHOOK, "hooks are set on the tape on which "
                         "a function is recorded");
        return;
    }
    adx_context *c = adx_live(t);
    t->hooks = hooks == NULL ? none : *hooks;
    c->trace = t->hooks.trace != NULL;
    if (t->block != NULL)
        adx_settle(t, c);
}
#endif

/* === tape/apart ========================================================
 * Statements that the inlined code does not write itself: those with values of
 * other tapes, with a NaN, under a hook, or in a new block. Also the called
 * operators.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *   offers  adx_call_any
 * ========================================================================== */

// Whether an expression is just one recorded value or a constant. All are that
// were made while the trace hook was set, since each operation is then recorded
// by itself.
static bool adx_is_node(unsigned n, const adx_slot slot[])
{
    uint64_t others = 0;
    for (unsigned i = 1; i < n; i++)
        others |= slot[i].id;
    return others == 0 && slot[0].d == 1;
}

// Gives slots their ids on this tape; a constant's is the sink. Returns whether
// any slot is a variable.
static bool adx_identify(unsigned n, adx_slot slot[])
{
    uint64_t any = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t id = slot[i].id >> 32 == 0 ? 0 : adx_known_id(slot[i].id);
        any |= id;
        slot[i].id = id >> 32 == 0 ? ADX_SINK : id;
    }
    return any >> 32 != 0;
}

// A partial with a factor of zero is zero, even where its slot says NaN.
static void adx_absorb_slots(unsigned n, adx_slot slot[], unsigned zero)
{
    for (unsigned i = 0; i < n; i++, zero >>= 1)
        if ((zero & 1) && adx_is_nan(slot[i].d))
            slot[i].d = 0;
}

// Adds each slot to an earlier one of the same variable, as `into` says.
// Returns how many there are without those.
static unsigned adx_gather_slots(unsigned n, adx_slot slot[], uint64_t into)
{
    unsigned left = n;
    for (unsigned k = 0; k < n; k++, into >>= 4)
        if ((into & 15) != 0) {
            slot[(into & 15) - 1].d += slot[k].d;
            left--;
        }
    return left;
}

// Records n = how & ADX_COUNT slots. Bit i of `zero`: the partial of slot i has
// a factor of zero. Four bits i of `into`, if not 0: slot i is added to the
// slot of that number, counted from 1 (number/expression).
ADX_NOINLINE ADX_API ad_rev adx_record_apart(ad_real v, unsigned how,
                                             adx_slot slot[], unsigned zero,
                                             uint64_t into)
{
    unsigned n = how & ADX_COUNT;
    bool traced = (how & ADX_WATCHED) && ADX_TRACED;

    if (traced && adx_is_node(n, slot))     // it is recorded already
        return adx_numbered(v, adx_known_id(slot[0].id));
    if (!adx_identify(n, slot))
        return adx_passive(v);
    if (traced)
        adx_refuse();
    if (traced || (how & ADX_LEAF))
        return adx_numbered(v, slot[0].id);
    if ((how & ADX_NOTED) && (ADREV_DEBUG || !ADREV_FIXED))
        adx_note_site(v);

    adx_absorb_slots(n, slot, zero);
    const unsigned left = adx_gather_slots(n, slot, into);
    bool sum = left > 1 && (how & ADX_SUM) && adx_is_number_one(slot[0].d)
            && (uint32_t)slot[0].id == adx_now.seq;
    // The test counts the operand that a sum does without, as in the inlined
    // code, where the room is a constant in that way.
    size_t most = sizeof(uint16_t) + left * sizeof(adx_operand);
    if (!adx_room(most) && !adx_grow(most - sum * sizeof(adx_operand)))
        return adx_passive(v);
    adx_operand *op = adx_now.op;
    into |= sum;                // its first slot is not written either
    for (unsigned i = 0; i < n; i++, into >>= 4)
        if ((into & 15) == 0)
            op = adx_put(op, slot[i].d, slot[i].id);
    return adx_commit(v, op, sum ? ADX_SUM | (left - 1) : left);
}

// Without fusing, an ad_fwd in an expression is noticed only when it runs.
static void adx_refuse_dual(void)
{
    if (adx_now.tape != NULL)
        adx_fail_because(adx_now.tape, ADREV_ESHAPE, "an ad_fwd and an ad_rev "
                         "in one expression");
}

// Operators without fusing (number/called): small rather than fast.
ADX_SELDOM_BEGIN

// An operator with n arguments a and their partials f.
static adx_number adx_call_any(unsigned how, ad_opcode code, ad_real v,
                               unsigned n, const adx_number a[],
                               const ad_real f[])
{
    adx_number e = { .v = v };
    adx_slot slot[3];
    unsigned slots = 0;
    uint64_t into = 0;
    ad_rev arg[3];

    for (unsigned i = 0; i < n; i++) {
        arg[i] = adx_numbered(a[i].v, a[i].id);
        e.d += a[i].kind & ADX_DUAL ? adx_times(f[i], a[i].d) : 0;
        e.kind |= a[i].kind;
        if (!(a[i].kind & ADX_RECORDED))
            continue;
        unsigned k = 0;
        while (k < slots && slot[k].id != a[i].id)
            k++;
        if (k < slots)              // an earlier slot is of the same variable
            into |= (uint64_t)(k + 1) << 4 * slots;
        slot[slots++] = (adx_slot){ f[i], a[i].id };
    }
#if ADREV_COUNT
    adx_count_op(code, slots);
#endif
    if (slots == 0)
        return e;
    ad_rev y;
    if ((how & ADX_WATCHED) && ADX_TRACED)
        y = n == 1 ? adx_traced_1(code, v, arg[0], f[0])
          : n == 2 ? adx_traced_2(code, v, arg[0], f[0], arg[1], f[1])
          : adx_traced(code, v, arg[0], f[0], arg[1], f[1], arg[2], f[2]);
    else
        y = adx_record_apart(v, how | slots, slot, 0, into);
    e.id = adx_word(&y);
    return e;
}

// The partial of an argument that is a plain number is not computed.
#define ADX_CALL_1(name, fx)                                                \
    ad_real v = adx_f_##name(a.v, 0, 0);                                    \
    ad_real f = a.kind ? adx_fx_##name(a.v, 0, 0, v) : 0;                   \
    return adx_call_any(how, ADREV_OP_##name, v, 1, &a, &f);
#define ADX_CALL_2(name, fx)                                                \
    ad_real v = adx_f_##name(a.v, b.v, 0);                                  \
    adx_number arg[2] = { a, b };                                           \
    ad_real f[2] = { a.kind ? adx_fx_##name(a.v, b.v, 0, v) : 0,            \
                     b.kind ? adx_fy_##name(a.v, b.v, 0, v) : 0 };          \
    return adx_call_any(how | (ADX_IS_ONE(fx) ? ADX_SUM : 0u),              \
                        ADREV_OP_##name, v, 2, arg, f);
#define ADX_CALL_3(name, fx)                                                \
    ad_real v = adx_f_##name(a.v, b.v, c.v);                                \
    adx_number arg[3] = { a, b, c };                                        \
    ad_real f[3] = { a.kind ? adx_fx_##name(a.v, b.v, c.v, v) : 0,          \
                     b.kind ? adx_fy_##name(a.v, b.v, c.v, v) : 0,          \
                     c.kind ? adx_fz_##name(a.v, b.v, c.v, v) : 0 };        \
    return adx_call_any(how, ADREV_OP_##name, v, 3, arg, f);
#define ADX_DEFINE(name, n, f, fx, ...)                                     \
    ADX_API adx_number adx_call_##name(ADX_CALLED_##n)                      \
        { ADX_CALL_##n(name, fx) }
ADREV_OPS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_CALL_1
#undef ADX_CALL_2
#undef ADX_CALL_3

// Told to the hook, but recorded nowhere.
static void adx_call_observed(unsigned how, ad_opcode code, ad_real v,
                              adx_number a, adx_number b)
{
    if ((how & ADX_WATCHED) && ADX_TRACED
        && ((a.kind | b.kind) & ADX_RECORDED))
        adx_observed(code, v, adx_numbered(a.v, a.id),
                     adx_numbered(b.v, b.id));
}

#define ADX_DEFINE(name, ...)                                               \
    ADX_API adx_number adx_call_##name(unsigned how, adx_number a)          \
    {                                                                       \
        adx_number e = { .v = adx_f_##name(a.v), .kind = a.kind & ADX_DUAL }; \
        adx_call_observed(how, ADREV_OP_##name, e.v, a, a);                 \
        return e;                                                           \
    }
ADREV_STEPS(ADX_DEFINE)
#undef ADX_DEFINE

#define ADX_DEFINE(name, ...)                                               \
    ADX_API bool adx_call_##name(unsigned how, adx_number a, adx_number b)  \
    {                                                                       \
        bool holds = adx_f_##name(a.v, b.v);                                \
        adx_call_observed(how, ADREV_OP_##name, holds, a, b);               \
        return holds;                                                       \
    }
ADREV_COMPARISONS(ADX_DEFINE)
#undef ADX_DEFINE

// The side that is taken. Without a hook nothing is recorded.
ADX_API adx_number adx_call_choose(unsigned how, bool c, adx_number a,
                                   adx_number b)
{
    adx_number e = c ? a : b;
    if ((how & ADX_WATCHED) && ADX_TRACED) {
        const adx_number arg[3] = { { .v = c }, a, b };
        const ad_real f[3] = { 0, c, !c };
        return adx_call_any(how, ADREV_OP_select, e.v, 3, arg, f);
    }
    e.kind = a.kind | b.kind;
    return e;
}

ADX_API ad_rev adx_call_rec(adx_number e)
{
    if (e.kind & ADX_DUAL)
        adx_refuse_dual();
    if (!(e.kind & ADX_RECORDED))
        return adx_passive(e.v);
    return adx_numbered(e.v, adx_known_id(e.id));
}

ADX_API ad_real adx_call_value(unsigned how, adx_number e)
{
    adx_call_observed(how, ADREV_OP_detach, e.v, e, e);
    return e.v;
}

// ad_dual: a number that is neither forward nor recorded has the tangent 0; a
// recorded one is a constant, and a hook is told so.
ADX_API ad_fwd adx_call_dual(unsigned how, adx_number e)
{
    if (e.kind == (ADX_DUAL | ADX_RECORDED))
        adx_refuse_dual();
    return (ad_fwd){ adx_call_value(how, e), e.kind & ADX_DUAL ? e.d : 0 };
}

ADX_API adx_number adx_call_detach(unsigned how, adx_number e)
{
    adx_number y = { .v = e.v, .kind = e.kind & ADX_DUAL };
    if ((e.kind & ADX_RECORDED) && (how & ADX_WATCHED) && ADX_TRACED) {
        ad_rev x = adx_numbered(e.v, e.id);
        ad_rev told = adx_traced(ADREV_OP_detach, x.v, x, 0, x, 0, x, 0);
        y.id = adx_word(&told);
        y.kind |= ADX_RECORDED;
    }
    return y;
}

ADX_API void adx_call_acc_rev(unsigned how, ad_rev *s, adx_number e)
{
    adx_number sum = { .v = s->v, .id = adx_word(s), .kind = ADX_RECORDED };
    bool last = (e.kind & ADX_RECORDED)
             && e.id == adx_compound(adx_now.job, adx_now.seq);
    *s = adx_call_rec(last ? adx_call_add(how, e, sum)
                           : adx_call_add(how, sum, e));
}

ADX_API void adx_call_acc_fwd(unsigned how, ad_fwd *s, adx_number e)
{
    adx_number sum = { .v = s->v, .d = s->d, .kind = ADX_DUAL };
    *s = adx_call_dual(how, adx_call_add(how, sum, e));
}

ADX_SELDOM_END

/* === tape/life ==============================================================
 * How a tape is made, cleared, rewound to a mark and freed.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries
 *   offers  adx_reset_tape adx_begin_segment adx_return_to
 * ========================================================================== */

/* --- the life of a tape -------------------------------------------------- */

// Begins a new recording in the memory of the old one, with a job of its own:
// so values of the old one are foreign from here on.
static void adx_reset_tape(ad_tape *t, adx_context *c)
{
    if (ADREV_FIXED < 2 && t->last != NULL)
        adx_destroy(t, 0);
    if (adx_annex_of(t) != NULL)
        adx_annex_of(t)->clear(t);
    if (t->status != ADREV_OK || t->failure.file != NULL)    // rewound
        memset(&t->failure, 0, sizeof t->failure);
    t->status = ADREV_OK;
    t->segments = 1;
    t->segment[0] = (adx_segment){ .job = adx_new_job(t) };
    t->sealed = NULL;
    t->most = 0;
    t->lead = 0;
    t->scratch = 0;
    t->one_way = false;
    t->calls = false;
    t->always = false;
    c->job = t->segment[0].job;
    c->seq = 0;
    if (t->first != NULL) {
        adx_enter_block(t, c, t->first);
        adx_settle(t, c);
    }
}

ADX_API void ad_tape_clear(ad_tape *t)
{
    if (t == NULL)
        return;
    if (adx_has_forks(t))
        adx_fail(t, ADREV_EBUSY);
    else
        adx_reset_tape(t, adx_live(t));
}

static ad_tape *adx_init(void *memory)
{
    ad_tape *t = (ad_tape *)memory;
    memset(t, 0, sizeof *t);
    t->rest.tape = t;
#if !ADREV_FIXED
    t->live = &t->rest;
#endif
    return t;
}

#if !defined ADREV_NO_STDLIB && !ADREV_FIXED
ADX_API ad_tape *ad_tape_new(void)
{
    return ad_tape_new_with(&adx_libc);
}
#endif

#if !ADREV_FIXED
ADX_API ad_tape *ad_tape_new_with(const ad_allocator *allocator)
{
    if (!adx_is_allocator(allocator))
        return NULL;
    void *memory = allocator->alloc(sizeof(ad_tape), allocator->user);
    if (memory == NULL)
        return NULL;

    ad_tape *t = adx_init(memory);
    t->allocator = *allocator;
    t->bytes = sizeof *t;
    adx_reset_tape(t, &t->rest);
    return t;
}
#endif

// Makes a tape current. What was recorded stays in its context.
#if ADREV_FIXED
static void adx_make_current(ad_tape *t)
{
#ifdef ADREV_CURRENT
    ADREV_CURRENT = t;
#else
    adx_current = t == NULL ? &adx_none : &t->rest;
#endif
}
#else
static void adx_make_current(ad_tape *t)
{
    static const adx_context none = {0};
    adx_now = t == NULL ? none : t->rest;
    if (t != NULL)
        t->live = &adx_now;
}
#endif

ADX_API ad_tape *ad_tape_in(void *buffer, size_t bytes)
{
    size_t skip = (0 - (uintptr_t)buffer) % _Alignof(max_align_t);
    size_t least = sizeof(ad_tape) + sizeof(adx_block) + sizeof(ad_real);

    if (buffer == NULL || bytes < skip + adx_round_up(least)
        || bytes > SIZE_MAX / 4)
        return NULL;
    if (adx_now.tape == (ad_tape *)((char *)buffer + skip))
        adx_make_current(NULL);         // the tape that was here is gone
    ad_tape *t = adx_init((char *)buffer + skip);
    t->bytes = (bytes - skip) / 8 * 8;
    t->first = (adx_block *)(t + 1);
    memset(t->first, 0, sizeof *t->first);
    t->first->bytes = t->bytes - sizeof *t - sizeof(adx_block);
    adx_reset_tape(t, &t->rest);
    return t;
}

ADX_API void ad_tape_free(ad_tape *t)
{
    if (t == NULL)
        return;
    if (adx_has_forks(t)) {
        adx_fail(t, ADREV_EBUSY);
        return;
    }
    if (adx_now.tape == t)
        ad_use(NULL);
    adx_destroy(t, 0);
    if (adx_annex_of(t) != NULL)
        adx_annex_of(t)->free(t);
#if !ADREV_FIXED
    if (adx_has_fixed_memory(t))
        return;

    for (adx_block *b = t->first; b != NULL;) {
        adx_block *next = b->next;
        adx_free(t, b, sizeof *b + b->bytes);
        b = next;
    }
    if (t->adjoint != NULL)
        adx_free(t, t->adjoint, t->adjoint_count * sizeof(ad_real));
    ad_allocator allocator = t->allocator;
    allocator.free(t, allocator.user);
#endif
}

ADX_API ad_tape *ad_use(ad_tape *t)
{
    ad_tape *before = adx_now.tape;

#if !ADREV_FIXED
    if (before != NULL) {
        before->rest = adx_now;
        before->live = &before->rest;
    }
#endif
    adx_make_current(t);
    return before;
}

/* --- marks --------------------------------------------------------------- */

// How many entries there are, modulo ADX_ENTRIES + 1. Blocks are few.
static uint32_t adx_entry_count(const ad_tape *t)
{
    const uint16_t *head = adx_live(t)->head;
    size_t entries = 0;
    for (const adx_block *b = t->block; b != NULL; b = b->prev) {
        entries += (size_t)(adx_top_of_block(b) - head);
        head = b->prev == NULL ? NULL : b->prev->head;
    }
    return entries & ADX_ENTRIES;
}

// The segment of a mark that is made here. At a place that has just been
// returned to it is the older segment, so that the same place can be marked and
// returned to again and again.
static const adx_segment *adx_segment_to_mark(const ad_tape *t,
                                              uint32_t entries)
{
    size_t i = t->segments - 1;
    while (i > 0 && t->segment[i].begin == adx_live(t)->seq
           && t->segment[i].entries == entries && !t->segment[i].session)
        i--;
    return &t->segment[i];
}

ADX_API ad_mark ad_tape_mark(ad_tape *t)
{
    static const ad_mark none;
    if (t == NULL)
        return none;
    const adx_context *c = adx_live(t);
    const uint32_t entries = adx_entry_count(t);
    t->sealed = c->head;
    return (ad_mark){
        t->block, c->op, c->head, t->scratch, (uint32_t)c->seq,
        adx_has_forks(t) ? 0 : adx_segment_to_mark(t, entries)->job,
        entries & ADX_ENTRIES, t->one_way, t->status
    };
}

// The segment in which the mark lies; `segments` if that is gone, or if the
// recording was rewound to before the mark.
static size_t adx_mark_segment(const ad_tape *t, const ad_mark *mark)
{
    size_t i = 0;
    while (i < t->segments && t->segment[i].job != mark->adx_job)
        i++;
    if (i == t->segments)
        return i;
    bool last = i + 1 == t->segments;
    size_t end = last ? adx_live(t)->seq : t->segment[i + 1].begin;
    if (mark->adx_seq != end)
        return mark->adx_seq < end ? i : t->segments;
    uint32_t entries = last ? adx_entry_count(t) : t->segment[i + 1].entries;
    uint32_t between = (entries - mark->adx_entries) & ADX_ENTRIES;
    return between <= ADX_ENTRIES / 2 ? i : t->segments;
}

// Begins segment i at a mark, where the tape ends.
static void adx_begin_segment(ad_tape *t, size_t i, const ad_mark *mark,
                              uint32_t job, bool session)
{
    t->segment[i] = (adx_segment){ job, mark->adx_seq, mark->adx_entries,
                                   session };
    t->segments = (uint32_t)i + 1;
    adx_live(t)->job = job;
}

// Makes room for one more segment: of the segments of this session, the oldest
// without values goes, and its marks with it. Not while an observer knows them.
static bool adx_drop_segment(ad_tape *t)
{
    size_t first = t->segments - 1;
    while (first > 0 && !t->segment[first].session)
        first--;
    for (size_t i = first + 1; !adx_is_observed(t) && i + 1 < t->segments; i++)
        if (t->segment[i].begin == t->segment[i + 1].begin) {
            t->segment[i + 1].entries = t->segment[i].entries;
            t->segments--;
            memmove(&t->segment[i], &t->segment[i + 1],
                    (t->segments - i) * sizeof t->segment[i]);
            return true;
        }
    return false;
}

// Puts the tape back into the state in which the mark was made.
static void adx_return_to(ad_tape *t, const ad_mark *mark)
{
    adx_context *c = adx_live(t);
    size_t bytes = ad_tape_bytes(t);

    adx_destroy(t, mark->adx_seq);
    t->most = bytes > t->most ? bytes : t->most;
    t->scratch = mark->adx_scratch;
    t->one_way = mark->adx_one_way;
    t->status = mark->adx_status;
    t->block = (adx_block *)mark->adx_block;
    t->sealed = (uint16_t *)mark->adx_head;
    c->op = (adx_operand *)mark->adx_op;
    c->head = (uint16_t *)mark->adx_head;
    c->seq = mark->adx_seq;
    t->lead = t->lead < c->seq ? t->lead : c->seq;
    if (t->block == NULL && t->first != NULL)
        adx_enter_block(t, c, t->first);
    if (t->block != NULL)
        adx_settle(t, c);
    if (adx_annex_of(t) != NULL)
        adx_annex_of(t)->rewound(t);
}

ADX_API ad_status ad_tape_rewind(ad_tape *t, ad_mark mark)
{
    if (t == NULL)
        return ADREV_ENOTAPE;
    if (adx_has_forks(t))
        return ADREV_EBUSY;
    size_t i = adx_mark_segment(t, &mark) + 1;
    if (i > t->segments)
        return ADREV_EMARK;
    if (i > ADREV_MARKS) {
        if (!adx_drop_segment(t))
            return ADREV_EMARK;
        i--;
    }

    adx_return_to(t, &mark);
    adx_begin_segment(t, i, &mark, adx_new_job(t), false);
    return ADREV_OK;
}

/* === tape/walk ==============================================================
 * Walking from entry to entry, forwards and backwards; sizes and statistics.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *   offers  adx_cursor adx_operands adx_values adx_put_cursor adx_next_entry
 *           adx_from adx_annexed_tape adx_adjoints
 * ========================================================================== */

typedef struct adx_cursor {
    const adx_block *block;
    const adx_operand *op;      // of the entry
    const uint16_t *head;       // of the entry
    const uint16_t *end;        // last header of the block
    size_t operands;            // of the entry
    size_t seq;                 // id of its last value
    const adx_place *until;     // where to stop; NULL: at the recording's end
} adx_cursor;

// Number of operands of an entry; edge: its first or its last operand.
static inline size_t adx_operands(unsigned header, const adx_operand *edge)
{
    return header == ADX_INPUTS ? 1
         : (ADREV_DEBUG || !ADREV_FIXED) && header == ADX_SITE
         ? ADX_SITE_OPERANDS
         : header >= ADX_DATA ? edge->id
         : header & ADX_COUNT;
}

// Number of values that an entry makes.
static inline size_t adx_values(unsigned header, const adx_operand *first)
{
    return !(header & ADX_OTHER) ? 1
         : header == ADX_INPUTS || header == ADX_GAP ? first->id
         : ADREV_FIXED == 2 || header != ADX_EXTENDED ? 0
         : ((const adx_extended *)adx_payload(first))->values;
}

// Puts a cursor between two entries.
static void adx_put_cursor(const ad_tape *t, adx_cursor *at,
                           const adx_place *place)
{
    const adx_block *last = at->until == NULL ? t->block : at->until->block;
    at->block = place->block;
    at->op = place->op;
    at->operands = 0;
    at->head = place->head;
    at->seq = place->seq;
    at->end = place->block == NULL ? place->head    // before the first block
            : place->block != last ? place->block->head
            : at->until == NULL ? adx_live(t)->head : at->until->head;
}

// Goes to the next entry; a new cursor goes to the first. Returns its header,
// or 0 at the end.
static inline unsigned adx_next_entry(const ad_tape *t, adx_cursor *at)
{
    const adx_block *last = at->until == NULL ? t->block : at->until->block;
    while (at->head == at->end) {
        const adx_block *b = at->block == NULL ? t->first : at->block->next;
        if (b == NULL || at->block == last)
            return 0;
        adx_place bottom = { b, adx_bottom(b), adx_top_of_block(b), at->seq };
        adx_put_cursor(t, at, &bottom);
    }
    unsigned header = *--at->head;
    at->op += at->operands;
    at->operands = adx_operands(header, at->op);
    at->seq += adx_values(header, at->op);
    return header;
}

// A cursor before the first entry behind a mark; of an empty mark, before all.
static adx_cursor adx_from(const ad_tape *t, const ad_mark *mark)
{
    adx_cursor at = { .seq = t->lead };
    const adx_place place = { (const adx_block *)mark->adx_block,
                              (const adx_operand *)mark->adx_op,
                              (const uint16_t *)mark->adx_head,
                              mark->adx_seq };

    if (place.block != NULL)
        adx_put_cursor(t, &at, &place);
    return at;
}

// The i-th further tape of the same recording; NULL: there are not so many.
static ad_tape *adx_annexed_tape(const ad_tape *t, size_t i)
{
    return adx_annex_of(t) == NULL ? NULL : adx_annex_of(t)->further(t, i);
}

// Adds the bytes of operands and headers in a block.
static void adx_count(const ad_tape *t, const adx_block *b, size_t *operands,
                      size_t *headers)
{
    const adx_context *c = adx_live(t);
    const adx_operand *op = b == t->block ? c->op : b->op;
    const uint16_t *head = b == t->block ? c->head : b->head;
    *operands += (size_t)((const char *)op - (const char *)adx_bottom(b));
    *headers += (size_t)((const char *)adx_top_of_block(b)
                         - (const char *)head);
}

ADX_API size_t ad_tape_bytes(const ad_tape *t)
{
    size_t operands = 0;
    size_t headers = 0;
    if (t == NULL)
        return 0;

    for (const adx_block *b = t->block; b != NULL; b = b->prev)
        adx_count(t, b, &operands, &headers);
    size_t adjoints = (adx_live(t)->seq + 1 + t->scratch) * sizeof(ad_real);
    size_t bytes = sizeof(ad_tape) + sizeof(adx_block)
        + adx_round_up(adx_round_up(operands) + adjoints + headers);
    for (size_t i = 0; adx_annexed_tape(t, i) != NULL; i++)
        if (adx_live(adx_annexed_tape(t, i))->seq > 0)
            bytes += ad_tape_bytes(adx_annexed_tape(t, i));
    return bytes;
}

ADX_API ad_stats ad_tape_stats(const ad_tape *t)
{
    ad_stats stats = {0};
    if (t == NULL)
        return stats;

    adx_cursor at = { .seq = t->lead };
    for (unsigned header; (header = adx_next_entry(t, &at)) != 0;)
        if (!(header & ADX_OTHER)) {
            stats.statements++;
            stats.operands += at.operands;
        } else if (header == ADX_EXTENDED) {
            const adx_extended *e = adx_payload(at.op);
            stats.statements++;
            stats.operands += e->operands;
        }
    stats.values = adx_live(t)->seq;
    stats.bytes_held = t->bytes;
    for (size_t i = 0; adx_annexed_tape(t, i) != NULL; i++) {
        ad_stats others = ad_tape_stats(adx_annexed_tape(t, i));
        stats.values += others.values;
        stats.statements += others.statements;
        stats.operands += others.operands;
        stats.bytes_held += others.bytes_held;
    }
    stats.bytes = ad_tape_bytes(t);
    stats.bytes_most = stats.bytes > t->most ? stats.bytes : t->most;
    return stats;
}

ADX_API void ad_tape_where(const ad_tape *t, ad_rev x, const char **file,
                           int *line)
{
    adx_site site = {0};

    if (t != NULL && adx_member(t, x)) {
        adx_cursor at = { .seq = t->lead };
        for (unsigned header; at.seq < x.seq
             && (header = adx_next_entry(t, &at)) != 0;) {
            if (header == ADX_SITE)
                memcpy(&site, at.op, sizeof site);
            else if (at.seq < x.seq || header == ADX_INPUTS)
                memset(&site, 0, sizeof site);
        }
    }
    *file = site.file;
    *line = site.line;
}

// Room for the adjoints of so many values in `width` directions, with one more
// for id 0, and for what a sweep needs besides. Not cleared; NULL: no memory.
static ad_real *adx_adjoints(ad_tape *t, size_t values, size_t width)
{
    size_t count = (values + 1 + t->scratch) * width;
    adx_context *c = adx_live(t);

    if (adx_has_fixed_memory(t)) {
        size_t offset = adx_round_up((size_t)((char *)c->op - (char *)t));
        ad_real *p = (ad_real *)((char *)t + offset);
        return (char *)p > (char *)c->head
            || (size_t)((char *)c->head - (char *)p) / sizeof *p < count
             ? NULL : p;
    }
#if ADREV_FIXED
    return NULL;
#else
    if (count > t->adjoint_count) {
        size_t bytes = (count + count / 8) * sizeof(ad_real);
        if (t->adjoint != NULL)
            adx_free(t, t->adjoint, t->adjoint_count * sizeof(ad_real));
        t->adjoint = (ad_real *)adx_alloc(t, bytes);
        t->adjoint_count = t->adjoint == NULL ? 0 : bytes / sizeof(ad_real);
    }
    return t->adjoint;
#endif
}

ADX_API ad_status ad_tape_reserve(ad_tape *t, size_t statements,
                                  size_t operands)
{
    if (t == NULL)
        return ADREV_ENOTAPE;
    adx_context *c = adx_live(t);
    if (t->status != ADREV_OK)
        return t->status;
    if (statements > ADX_MOST_ELEMENTS || operands > ADX_MOST_ELEMENTS)
        return adx_has_fixed_memory(t) ? ADREV_EFULL : ADREV_ENOMEM;

    size_t inputs = c->head == t->start ? 0 : ADX_LEAST;
    size_t need = inputs + statements * sizeof(uint16_t)
                + operands * sizeof(adx_operand);
    if (ADREV_DEBUG)
        need += statements * (sizeof(uint16_t)
                              + ADX_SITE_OPERANDS * sizeof(adx_operand));
    if (adx_has_fixed_memory(t)) {
        size_t adjoints = (c->seq + 1 + statements + t->scratch)
                        * sizeof(ad_real);
        return adx_gap(c) < need + adjoints + 8 ? ADREV_EFULL : ADREV_OK;
    }
#if !ADREV_FIXED
    if ((t->block == NULL || adx_gap(c) < need)
        && adx_next_block(t, need) == NULL)
        return ADREV_ENOMEM;
#endif
    if (t->block == NULL) {
        adx_enter_block(t, c, t->first);
        adx_settle(t, c);
    }
    return adx_adjoints(t, c->seq + statements, 1) == NULL ? ADREV_ENOMEM
                                                           : ADREV_OK;
}

/* === sweep/sweep ============================================================
 * A reverse sweep goes from the last statement to the first, with adj[operand]
 * += d * adj. A forward sweep goes from the first to the last, with tan += sum
 * of d * tan[operand]. Both do W directions at once, stored value by value:
 * adj[id*W + w]. W is a constant in each copy of the loop: 1, or a multiple of
 * the lanes. As everywhere, a zero factor absorbs the other one (core/types).
 *
 *   needs   number/recording tape/layout tape/entries tape/walk
 *   offers  adx_chained adx_is_plain adx_spread ADX_WIDEST ADX_ACROSS
 *           adx_total adx_stretch adx_reverse_extended adx_leap_of
 *           adx_reverse_1 adx_reverse adx_sweep_fn ADX_FOR_WIDTH adx_sweep
 *           adx_forward_extended adx_forward adx_forward_1
 * ========================================================================== */

/* --- reverse ------------------------------------------------------------- */

// A product of the chain rule: where a zero has to absorb the other factor, the
// plain product is NaN.
ADX_INLINE ad_real adx_chained(ad_real d, ad_real a)
{
    const ad_real p = d * a;
    if (ADX_UNLIKELY(ADX_UNORDERED(p, p)) && (adx_is_zero(d) || adx_is_zero(a)))
        return 0;
    return p;
}

ADX_COLD static void adx_spread_absorbing(ad_real adj[], const adx_operand *op,
                                          size_t n, const ad_real a[],
                                          size_t W)
{
    for (size_t i = 0; i < n; i++)
        for (size_t w = 0; w < W; w++)
            adj[op[i].id * W + w] += adx_chained(op[i].d, a[w]);
}

// Whether a is finite and not zero. The bits are shifted left, which drops the
// sign, and 1 is subtracted. That makes zeros the largest number of all, and
// infinities and NaN the next ones: their bits begin with all ones.
ADX_INLINE bool adx_is_plain(ad_real a)
{
    return (adx_bits)(adx_bits_shifted(a) - 1) < ADX_SPECIAL - 1;
}

ADX_INLINE void adx_spread_one(ad_real adj[], const adx_operand *p, ad_real a)
{
#if ADREV_COUNT
    if (p->id != 0)
        adx_count_reverse(p->d, adj[p->id]);
#endif
    adj[p->id] += p->d * a;
}

ADX_INLINE void adx_spread_two(ad_real adj[], const adx_operand *p, ad_real a)
{
    adx_spread_one(adj, p + 1, a);
    adx_spread_one(adj, p, a);
}

// Adds the contributions of one statement, whose adjoint a is plain, and
// returns op, where it ends. No statement is without operands. (In pairs:
// particles, bench/, 13 % faster. On small machines ADX_OPAQUE has gcc go on
// with p in the register where op was, instead of computing its end apart.)
ADX_INLINE const adx_operand *adx_spread_plain(ad_real adj[],
                                               const adx_operand *op,
                                               size_t n, ad_real a)
{
    const adx_operand *p = op + n;
#if ADREV_FIXED
    if (n & 1) {
        p--;
        ADX_OPAQUE(p);
        adx_spread_one(adj, p, a);
        if (n == 1)
            return p;
    }
    do {
        p -= 2;
        ADX_OPAQUE(p);
        adx_spread_two(adj, p, a);
    } while (p > op);
#else
    if (n & 1)
        adx_spread_one(adj, --p, a);
    while (p > op)
        adx_spread_two(adj, p -= 2, a);
#endif
    return p;
}

// The same of any statement. A zero partial needs care only where a is not
// finite. Nothing is added if a is zero. (One test for both: particles and dot,
// bench/, take a tenth less time in all than with three comparisons of
// numbers.)
ADX_INLINE void adx_spread(ad_real adj[], const adx_operand *op, size_t n,
                           ad_real a)
{
    if (ADX_UNLIKELY(!adx_is_plain(a))) {
        ad_real copy = a;       // so that a itself can stay in a register
        if (!adx_is_zero(a))
            adx_spread_absorbing(adj, op, n, &copy, 1);
        return;
    }
    adx_spread_plain(adj, op, n, a);
}

#ifndef ADX_LANES
#define ADX_WIDEST 1
#define ADX_SPREAD_LANES(adj, k, op, header, W) ((void)0)
#define ADX_GATHER_LANES(tan, k, op, header, W) ((void)0)
#else
#define ADX_WIDEST 8
#define ADX_SPREAD_LANES adx_spread_lanes
#define ADX_GATHER_LANES adx_gather_lanes

// How many numbers a register holds side by side: four, or two. Where registers
// have 16 bytes, gcc 12 keeps four doubles in memory. (bench: rotquat, gcc -O2,
// 0.68.)
#ifdef __AVX__
#define ADX_ACROSS 4
#else
#define ADX_ACROSS (sizeof(ad_real) == 4 ? 4 : 2)
#endif
typedef ad_real adx_lanes __attribute__((vector_size(ADX_ACROSS
                                                     * sizeof(ad_real)),
                                         aligned(sizeof(ad_real)), may_alias));
typedef __typeof__((adx_lanes){0} == (adx_lanes){0}) adx_mask;

ADX_INLINE ad_real adx_total(const adx_lanes *x)
{
    ad_real low = (*x)[0] + (*x)[1];
    return ADX_ACROSS == 2 ? low
         : low + ((*x)[ADX_ACROSS - 2] + (*x)[ADX_ACROSS - 1]);
}

// As adx_spread, for the statement of value k in all directions. In a direction
// whose adjoint is zero nothing is added, even if the partial is not finite.
ADX_INLINE void adx_spread_lanes(ad_real adj[], size_t k,
                                 const adx_operand *op, unsigned header,
                                 const size_t W)
{
    const size_t n = header & ADX_COUNT;
    const adx_mask sign = (adx_mask)-(adx_lanes){0};
    const adx_lanes *y = (const adx_lanes *)&adj[k * W];
    adx_lanes a[ADX_WIDEST / ADX_ACROSS];
    adx_mask live[ADX_WIDEST / ADX_ACROSS];
    adx_lanes size = {0};

    for (size_t r = 0; r < W / ADX_ACROSS; r++) {
        a[r] = y[r];
        live[r] = (adx_mask)(a[r] != 0);
        size += (adx_lanes)((adx_mask)a[r] & ~sign);
    }
    ad_real total = adx_total(&size);
    if (total == 0)
        return;
    if (ADX_UNLIKELY(total * 0 != 0)) {
        ad_real copy[ADX_WIDEST];
        memcpy(copy, a, sizeof *copy * W);
        adx_spread_absorbing(adj, op, n, copy, W);
    } else {
        for (const adx_operand *p = op + n; p-- > op;) {
            adx_lanes *x = (adx_lanes *)&adj[p->id * W];
            ad_real d = p->d;
            for (size_t r = 0; r < W / ADX_ACROSS; r++)
                x[r] += (adx_lanes)((adx_mask)(d * a[r]) & live[r]);
        }
    }
    for (size_t r = 0; header & ADX_SUM && r < W / ADX_ACROSS; r++)
        ((adx_lanes *)&adj[(k - 1) * W])[r] += a[r];
}

#endif

// A part of a tape. Its extended statements may use numbers that lie behind the
// adjoints of all values, `scratch` further on for each direction.
typedef struct adx_stretch {
    adx_place from;
    adx_place to;
    size_t scratch;
} adx_stretch;

static ad_real *adx_scratch(const ad_tape *t, const adx_stretch *s,
                            ad_real a[], size_t W)
{
    return a + (adx_live(t)->seq + 1 + (s == NULL ? 0 : s->scratch)) * W;
}

static bool adx_reverse_extended(const ad_tape *t, const adx_stretch *s,
                                 const adx_operand *op, ad_real adj[],
                                 size_t W)
{
    const adx_extended *e = adx_payload(op);
    return e->rule->reverse(e, adj, adx_scratch(t, s, adj, W), W);
}

static adx_leap *adx_leap_of(const adx_operand *op)
{
    adx_leap *leap;
    memcpy(&leap, adx_payload(op), sizeof leap);
    return leap;
}

#if ADREV_FIXED
// All of fixed memory is one block. y: behind the adjoint of the next value.
static bool adx_reverse_1(const ad_tape *t, ad_real adj[])
{
    const adx_operand *op = t->rest.op;
    const uint16_t *head = t->rest.head;
    const uint16_t *end = t->floor.adx_block == NULL
                        ? t->start : (const uint16_t *)t->floor.adx_head;
    ad_real *y = &adj[t->rest.seq] + 1;

    if (head < end)
        do {
            const unsigned header = *head++;
            if (ADX_UNLIKELY(header & ADX_OTHER)) {
                if (ADREV_FIXED < 2 && header == ADX_EXTENDED) {
                    op -= op[-1].id;
                    y -= adx_values(ADX_EXTENDED, op);
                    if (!adx_reverse_extended(t, NULL, op, adj, 1))
                        return false;
                    continue;
                }
                op -= adx_operands(header, op - 1);
                y -= adx_values(header, op);
                continue;
            }
            const size_t n = header & ADX_COUNT;
            const adx_operand *first = op - n;
            y--;
            ADX_OPAQUE(y);
            const ad_real a = *y;
            const adx_bits size = adx_bits_shifted(a);
            if (size == 0) {    // in a row of a Jacobian most are
                op = first;
                continue;
            }
            if (ADX_LIKELY(size < ADX_SPECIAL))
                op = adx_spread_plain(adj, first, n, a);
            else {
                ad_real copy = a;
                op = first;
                adx_spread_absorbing(adj, op, n, &copy, 1);
            }
            if (header & ADX_SUM) {
                ADX_OPAQUE(y);  // a branch: it takes less than what gcc makes
                y[-1] += a;
            }
        } while (head != end);
    return true;
}
#else
// Sweeps a stretch; s NULL: all of the tape above its floor. Operands and
// headers are read from the end of each block, block by block.
ADX_INLINE bool adx_reverse(const ad_tape *t, const adx_stretch *s,
                            ad_real adj[], const size_t W)
{
    const adx_context *c = adx_live(t);
    const adx_block *floor = s == NULL ? (const adx_block *)t->floor.adx_block
                                       : s->from.block;
    const adx_operand *op = s == NULL ? c->op : s->to.op;
    const uint16_t *head = s == NULL ? c->head : s->to.head;
    size_t k = s == NULL ? c->seq : s->to.seq;
    const adx_block *b = s == NULL ? t->block : s->to.block;

    while (b != NULL) {
        const uint16_t *end = b != floor ? adx_top_of_block(b) : s == NULL
                            ? (const uint16_t *)t->floor.adx_head
                            : s->from.head;
        bool leapt = false;
        while (head < end) {
            unsigned header = *head++;
            if (header & ADX_OTHER) {
                op -= adx_operands(header, op - 1);
                k -= adx_values(header, op);
                if (header == ADX_EXTENDED
                    && !adx_reverse_extended(t, s, op, adj, W))
                    return false;
                if (header == ADX_LEAP) {
                    adx_leap *leap = adx_leap_of(op);
                    if (!leap->reverse(leap, W))
                        return false;
                    b = leap->before.block;
                    op = leap->before.op;
                    head = leap->before.head;
                    k = leap->before.seq;
                    leapt = true;
                    break;
                }
                continue;
            }
            op -= header & ADX_COUNT;
            ADX_FETCH((uintptr_t)op - ADX_FAR);
            if (W > 1) {
                ADX_SPREAD_LANES(adj, k, op, header, W);
                k--;
                continue;
            }
            ad_real a = adj[k--];
            adx_spread(adj, op, header & ADX_COUNT, a);
            // A running sum: the value before has partial 1. Its adjoint is
            // this one plus what other statements contributed. Go on with it.
            while (header & ADX_SUM) {
#if ADREV_COUNT
                if (a != 0)
                    adx_count_reverse(1, adj[k]);
#endif
                a += adj[k];
                adj[k] = a;
                if (head == end || *head & ADX_OTHER)
                    break;
                header = *head++;
                op -= header & ADX_COUNT;
                k--;
                ADX_FETCH((uintptr_t)op - ADX_FAR);
                adx_spread(adj, op, header & ADX_COUNT, a);
            }
        }
        if (leapt)
            continue;
        if (b == floor)
            break;
        b = b->prev;
        if (b != NULL) {
            op = b->op;
            head = b->head;
        }
    }
    return true;
}

static bool adx_reverse_1(const ad_tape *t, ad_real adj[])
{
    return adx_reverse(t, NULL, adj, 1);
}

static bool adx_reverse_4(const ad_tape *t, ad_real adj[])
{
    return adx_reverse(t, NULL, adj, 4);
}

static bool adx_reverse_8(const ad_tape *t, ad_real adj[])
{
    return adx_reverse(t, NULL, adj, 8);
}

#endif

typedef bool adx_sweep_fn(const ad_tape *t, ad_real a[]);

// The copy of a sweep for W directions, of a whole tape or of a stretch. (With
// one copy for both, which is told at run time, nn takes 9 % longer with clang
// 14.)
#if ADREV_FIXED
#define ADX_FOR_WIDTH(W, sweep) ((void)(W), sweep##_1)
#else
#define ADX_FOR_WIDTH(W, sweep)                                             \
    ((W) == 8 ? sweep##_8 : (W) == 4 ? sweep##_4 : sweep##_1)
#endif

// The user's functions find no tape current: what they record must not move
// what is being swept.
ADX_INLINE bool adx_sweep(const ad_tape *t, adx_sweep_fn *sweep, ad_real a[])
{
    if (!t->calls)
        return sweep(t, a);
    ad_tape *before = ad_use(NULL);
    bool ok = sweep(t, a);
    ad_use(before);
    return ok;
}

/* --- forward ------------------------------------------------------------- */

// The tangent of value k, which may have a seed; a zero factor absorbs the
// other.
ADX_COLD static void adx_gather_absorbing(ad_real tan[], const ad_real seed[],
                                          size_t k, const adx_operand *op,
                                          unsigned header, size_t W)
{
    for (size_t w = 0; w < W; w++) {
        ad_real sum = seed[w];
        if (header & ADX_SUM)
            sum += tan[(k - 1) * W + w];
        for (size_t i = 0; i < (header & ADX_COUNT); i++)
            sum += adx_absorb(op[i].d, tan[op[i].id * W + w]);
        tan[k * W + w] = sum;
    }
}

ADX_INLINE void adx_gather(ad_real tan[], size_t k, const adx_operand *op,
                           unsigned header)
{
    ad_real seed = tan[k];
    ad_real y = header & ADX_SUM ? seed + tan[k - 1] : seed;

    for (size_t i = 0; i < (header & ADX_COUNT); i++)
        y += op[i].d * tan[op[i].id];
    tan[k] = y;
    if (ADX_UNLIKELY(y != y))
        adx_gather_absorbing(tan, &seed, k, op, header, 1);
}

#ifdef ADX_LANES
// Computes the tangents of value k in W directions. Plain products may be wrong
// only where a result is not finite (a zero that meets an infinity); then the
// sum is made again by the rule.
ADX_INLINE void adx_gather_lanes(ad_real tan[], size_t k,
                                 const adx_operand *op, unsigned header,
                                 const size_t W)
{
    ad_real seed[ADX_WIDEST];
    adx_lanes y[ADX_WIDEST / ADX_ACROSS];
    adx_lanes total = {0};

    memcpy(seed, &tan[k * W], sizeof *seed * W);
    memcpy(y, seed, sizeof *seed * W);
    for (size_t r = 0; header & ADX_SUM && r < W / ADX_ACROSS; r++)
        y[r] += ((const adx_lanes *)&tan[(k - 1) * W])[r];
    for (size_t i = 0; i < (header & ADX_COUNT); i++)
        for (size_t r = 0; r < W / ADX_ACROSS; r++)
            y[r] += op[i].d * ((const adx_lanes *)&tan[op[i].id * W])[r];
    for (size_t r = 0; r < W / ADX_ACROSS; r++)
        total += y[r];
    memcpy(&tan[k * W], y, sizeof *seed * W);
    if (ADX_UNLIKELY(adx_total(&total) * 0 != 0))
        adx_gather_absorbing(tan, seed, k, op, header, W);
}
#endif

static bool adx_forward_extended(const ad_tape *t, const adx_stretch *s,
                                 const adx_operand *op, ad_real tan[],
                                 size_t W)
{
    const adx_extended *e = adx_payload(op);
    return e->rule->forward(e, tan, adx_scratch(t, s, tan, W), W);
}

static adx_cursor adx_begin_stretch(const ad_tape *t, const adx_stretch *s)
{
    adx_cursor at = { .until = s == NULL ? NULL : &s->to };
    if (s == NULL)
        return adx_from(t, &t->floor);
    adx_put_cursor(t, &at, &s->from);
    return at;
}

// Sweeps a stretch forwards; s NULL: all of the tape above its floor.
ADX_INLINE bool adx_forward(const ad_tape *t, const adx_stretch *s,
                            ad_real tan[], const size_t W)
{
    adx_cursor at = adx_begin_stretch(t, s);

    for (unsigned header; (header = adx_next_entry(t, &at)) != 0;) {
        if (header == ADX_EXTENDED) {
            if (!adx_forward_extended(t, s, at.op, tan, W))
                return false;
        } else if (header == ADX_LEAP) {
            adx_leap *leap = adx_leap_of(at.op);
            if (!leap->forward(leap, W))
                return false;
            adx_put_cursor(t, &at, &leap->after);
        } else if (header & ADX_OTHER)
            continue;
        else if (W > 1)
            ADX_GATHER_LANES(tan, at.seq, at.op, header, W);
        else
            adx_gather(tan, at.seq, at.op, header);
    }
    return true;
}

static bool adx_forward_1(const ad_tape *t, ad_real tan[])
{
    return adx_forward(t, NULL, tan, 1);
}

#if !ADREV_FIXED
static bool adx_forward_4(const ad_tape *t, ad_real tan[])
{
    return adx_forward(t, NULL, tan, 4);
}

static bool adx_forward_8(const ad_tape *t, ad_real tan[])
{
    return adx_forward(t, NULL, tan, 8);
}
#endif

/* === sweep/queries ==========================================================
 * Gradients, pullbacks, pushforwards and Jacobians of a recording. A query
 * checks its arguments, clears the adjoints (or tangents), seeds them, sweeps,
 * and reads the result. A Jacobian of m results by n inputs takes W of its rows
 * in each reverse sweep, or W of its columns in each forward sweep, whichever
 * makes fewer sweeps; W is at most 8, and less where there is less memory.
 *
 *   needs   number/recording tape/layout tape/memory tape/hooks tape/walk
 *           sweep/sweep
 *   offers  adx_in_strides adx_derivative adx_read adx_check_values
 *           adx_check_query adx_cleared adx_pullback adx_width adx_afford
 *           adx_rows adx_columns adx_prefers_forward
 * ========================================================================== */

/* --- queries ------------------------------------------------------------- */

// Whether the compound ids of x are id, id + stride ... The loop has no branch,
// so it becomes a vector loop, which pays for long arrays.
ADX_APART bool adx_in_strides(size_t n, const ad_rev x[], uint64_t id,
                            uint64_t stride)
{
#if ADX_WORDS
    uint64_t other = 0;

    for (size_t i = 0; i < n; i++, id += stride)
        other |= adx_word(&x[i]) ^ id;
    return other == 0;
#else
    const uint32_t job = (uint32_t)(id >> 32);
    uint32_t seq = (uint32_t)id;
    uint32_t other = 0;

    for (size_t i = 0; i < n; i++, seq += (uint32_t)stride)
        other |= (x[i].job ^ job) | (x[i].seq ^ seq);
    return other == 0;
#endif
}

// The adjoints or tangents of x, which may lie on another tape.
ADX_INLINE ad_real *adx_derivative(const ad_tape *t, ad_real a[], ad_rev x,
                                   size_t W)
{
#if !ADREV_FIXED
    if (ADX_UNLIKELY(t->annex != NULL) && !adx_member(t, x))
        a = t->annex->owner(t, x)->adjoint;
#endif
    (void)t;
    return &a[x.seq * W];
}

// A number that is only copied, as a word: ARM has more addresses for these.
#if defined __GNUC__ || defined __clang__
typedef adx_bits __attribute__((may_alias)) adx_raw;
#else
typedef ad_real adx_raw;
#endif

// Reads the adjoints or tangents of x. `run`: all are values of t, with ids one
// after the other, so theirs lie in a row.
static inline void adx_read(const ad_tape *t, size_t n, const ad_rev x[],
                            ad_real adj[], bool run, ad_real to[])
{
    if (run && !ADREV_FIXED)
        memcpy(to, adx_derivative(t, adj, *x, 1), n * sizeof *to);
    else if (ADX_UNLIKELY(adx_annex_of(t) != NULL))
        for (size_t j = 0; j < n; j++)
            to[j] = *adx_derivative(t, adj, x[j], 1);
    else
        for (size_t j = 0; j < n; j++)
            *(adx_raw *)&to[j] = *(const adx_raw *)&adj[x[j].seq];
}

// Whether all of x are of the newest segment. Values of older ones are valid,
// too, but rare.
ADX_FAST bool adx_all_newest(const adx_context *c, size_t n, const ad_rev x[])
{
#if ADX_WORDS
    const uint64_t first = adx_compound((uint32_t)c->job, 1);
    for (const ad_rev *end = x + n; x < end; x++)
        if (adx_word(x) - first >= c->seq)
            return false;
#else
    const adx_job job = c->job;
    if (n > 0)
        do {
            const uint32_t seq = x->seq;
            const uint32_t others = x->job;
            ADX_OPAQUE(x);      // or gcc reads one number after the other
            // with ADREV_FIXED nobody has the job but the values up to c->seq
            if (others != job || (!ADREV_FIXED && seq > c->seq))
                return false;
            x++;
        } while (--n > 0);
#endif
    return true;
}

// Whether x is one of the first `length` values of a segment.
ADX_INLINE bool adx_is_early(const ad_rev *x, const adx_segment *s,
                             uint32_t length)
{
#if ADX_WORDS
    return adx_word(x) - adx_compound(s->job, (size_t)s->begin + 1) < length;
#else
    return x->job == s->job && x->seq - s->begin - 1 < length;
#endif
}

// Checks values that are not all of the newest segment. `some`: constants are
// allowed, unless all are constants.
ADX_SELDOM static ad_status adx_check_others(const ad_tape *t, size_t n,
                                             const ad_rev x[], bool some)
{
    size_t constants = 0;

    for (size_t i = 0; i < n; i++)
        if (x[i].job == 0)
            constants++;
        else if (x[i].job == ADX_JOB_BEYOND)
            return ADREV_EBEYOND;
        else if (!adx_member(t, x[i])
                 && (adx_annex_of(t) == NULL
                     || adx_annex_of(t)->owner(t, x[i]) == NULL))
            return ADREV_EFOREIGN;
    return constants > 0 && (!some || constants == n) ? ADREV_EPASSIVE
                                                      : ADREV_OK;
}

// Checks values. run: the ids of x are consecutive, so the first and the last
// stand for all.
ADX_INLINE ad_status adx_check_values(const ad_tape *t, size_t n,
                                      const ad_rev x[], bool some, bool run)
{
    if (adx_no_array(n, x))
        return ADREV_ESHAPE;
    if (ADREV_FIXED)
        return adx_all_newest(adx_live(t), n, x)
             ? ADREV_OK : adx_check_others(t, n, x, some);

    const adx_segment *last = &t->segment[t->segments - 1];
    uint32_t length = (uint32_t)adx_live(t)->seq - last->begin;
    if (run && !adx_is_early(x, last, length))
        return adx_check_others(t, n, x, some);
    for (size_t i = run ? n - 1 : 0; i < n; i++)
        if (!adx_is_early(&x[i], last, length))
            return adx_check_others(t, n, x, some);
    return ADREV_OK;
}

// (Not with ADREV_FIXED, where what this saves is less than its code.)
static inline bool adx_is_run(size_t n, const ad_rev x[])
{
    return !ADREV_FIXED && n > 16 && x != NULL
        && adx_in_strides(n, x, adx_word(x), 1);
}

// Refuses to sweep a tape with open forks, or one on which a function is being
// recorded: there the result would be a constant that no guard watches, so the
// tape fails.
ADX_COLD static ad_status adx_check_open(ad_tape *t)
{
    // but not ad_grad or its kin, which sweep only what they recorded
    if (t->floor.adx_block != NULL
        || (adx_is_observed(t) && t->floor.adx_seq > 0))
        return ADREV_OK;
    if (adx_has_forks(t))
        return ADREV_EBUSY;
    adx_fail_because(t, ADREV_EHOOK, "derivatives are asked of the tape on "
                     "which a function is recorded");
    return ADREV_EHOOK;
}

// What all queries check, for outputs y and inputs x. `missing`: another array
// is NULL or impossible. Lengths are checked before anything is read.
ADX_FAST ad_status adx_check_query(ad_tape *t, size_t m, const ad_rev y[],
                                   size_t n, const ad_rev x[], bool missing,
                                   bool *run)
{
    ad_status status = ad_tape_status(t);
    *run = false;
    if (status == ADREV_OK
        && ADX_UNLIKELY(adx_has_forks(t) || adx_is_observed(t)))
        status = adx_check_open(t);
    if (status == ADREV_OK && (missing || n > ADX_MOST_ELEMENTS))
        status = ADREV_ESHAPE;
    if (status == ADREV_OK)
        status = adx_check_values(t, m, y, true, false);
    if (status == ADREV_OK && n > adx_live(t)->seq && adx_annex_of(t) == NULL)
        status = ADREV_ESHAPE;
    if (status == ADREV_OK) {
        *run = adx_is_run(n, x);
        status = adx_check_values(t, n, x, false, !ADREV_FIXED && *run);
    }
    return status;
}

// For short arrays. The C library may clear these by masked stores, for which
// the loads of the following sweep would have to wait.
ADX_INLINE void adx_zero_few(ad_real *p, size_t n)
{
    static const ad_real none[4] = {0};

    for (; n >= 4 && !ADREV_FIXED; n -= 4, p += 4) {
        memcpy(p, none, sizeof none);
        ADX_OPAQUE(p);
    }
    if (ADREV_FIXED && n >= 4) {        // some of the last four twice
        ad_real *last = p + n;
        ADX_OPAQUE(last);
        last -= 4;
        do {
            p[0] = p[1] = p[2] = p[3] = 0;
            p += 4;
            ADX_OPAQUE(p);
        } while (p < last);
        last[0] = last[1] = last[2] = last[3] = 0;
        return;
    }
    for (; n > 0; n--, p++) {
        *p = 0;
        ADX_OPAQUE(p);
    }
}

static inline void adx_zero(ad_real *p, size_t n)
{
    if (n > 128 && !ADREV_FIXED)
        memset(p, 0, n * sizeof *p);
    else
        adx_zero_few(p, n);
}

// Room for adjoints in so many directions; NULL: no memory.
static inline ad_real *adx_uncleared(ad_tape *t, size_t width)
{
    size_t values = adx_live(t)->seq;
#if ADREV_FIXED
    return adx_adjoints(t, values, width);
#else
    ad_real *p = t->adjoint;
    if (ADX_UNLIKELY((values + 1 + t->scratch) * width > t->adjoint_count))
        p = adx_adjoints(t, values, width);
    return ADX_UNLIKELY(t->annex != NULL) && p != NULL
        && !t->annex->afford(t, width) ? NULL : p;
#endif
}

// Makes them zero from the floor on. A reverse sweep writes below the floor but
// does not read there. A forward sweep reads everywhere, and passes floor 0.
static inline void adx_clear(ad_tape *t, ad_real *p, size_t width,
                             size_t floor)
{
    if (ADX_UNLIKELY(adx_annex_of(t) != NULL))
        adx_annex_of(t)->zero(t, width);
    adx_zero(p + floor * width, (adx_live(t)->seq + 1 - floor) * width);
}

static inline ad_real *adx_cleared(ad_tape *t, size_t width, size_t floor)
{
    ad_real *p = adx_uncleared(t, width);
    if (p != NULL)
        adx_clear(t, p, width, floor);
    return p;
}

// Seeds the adjoints of y, sweeps back once, and reads those of x.
ADX_NOINLINE static ad_status adx_pullback(ad_tape *t, size_t m,
                                           const ad_rev y[],
                                           const ad_real dy[], size_t n,
                                           const ad_rev x[], ad_real dx[])
{
    bool missing = adx_no_array(m, dy) || adx_no_array(n, dx);
    bool run;
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    if (status != ADREV_OK)
        return status;
    ad_real *adj = adx_cleared(t, 1, t->floor.adx_seq);
    if (adj == NULL)
        return ADREV_ENOMEM;

    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0)
            *adx_derivative(t, adj, y[i], 1) += dy[i];
    if (!adx_sweep(t, adx_reverse_1, adj))
        return ADREV_EEXTERNAL;
    adx_read(t, n, x, adj, run, dx);
    return ADREV_OK;
}

#define ADX_FEW ((size_t)16)

// Whether t has few values, and nothing but t is to be swept.
ADX_INLINE bool adx_is_few(const ad_tape *t)
{
    return adx_live(t)->seq <= ADX_FEW && t->block == t->first
        && t->status == ADREV_OK && !adx_is_observed(t)
        && adx_annex_of(t) == NULL;
}

// The gradient of a small tape, with adjoints on the stack. False: not possible
// in this way, and nothing was written. (bench: mul, 0.84.)
ADX_INLINE bool adx_gradient_of_few(const ad_tape *t, ad_rev y, size_t n,
                                    const ad_rev x[], ad_real g[])
{
    ad_real adj[ADX_FEW + 4];
    const adx_context *c = adx_live(t);
    const uint16_t *head = c->head;
    const adx_operand *op = c->op;
    size_t k = c->seq;

    if (!adx_is_few(t) || n > k || x == NULL || g == NULL
        || !adx_all_newest(c, 1, &y) || !adx_all_newest(c, n, x))
        return false;
    adx_zero_few(adj, (k / 4 + 1) * 4);
    adj[y.seq] = 1;
    while (head < t->start) {
        unsigned header = *head++;
        if (header & ADX_OTHER) {
            if (header == ADX_EXTENDED)
                return false;
            op -= adx_operands(header, op - 1);
            k -= adx_values(header, op);
            continue;
        }
        op -= header & ADX_COUNT;
        ad_real a = adj[k--];
        adx_spread(adj, op, header & ADX_COUNT, a);
        if (header & ADX_SUM)
            adj[k] += a;
    }
    for (size_t i = 0; i < n; i++)
        g[i] = adj[x[i].seq];
    return true;
}

ADX_API ad_status ad_gradient(ad_tape *t, ad_rev y, size_t n,
                              const ad_rev x[], ad_real g[])
{
    static const ad_real one = 1;
    if (!ADREV_COUNT && !ADREV_FIXED && t != NULL
        && adx_gradient_of_few(t, y, n, x, g))
        return ADREV_OK;
    return adx_pullback(t, 1, &y, &one, n, x, g);
}

ADX_API ad_status ad_pullback(ad_tape *t, size_t m, const ad_rev y[],
                              const ad_real dy[], size_t n, const ad_rev x[],
                              ad_real dx[])
{
    return adx_pullback(t, m, y, dy, n, x, dx);
}

ADX_API ad_status ad_pushforward(ad_tape *t, size_t n, const ad_rev x[],
                                 const ad_real dx[], size_t m,
                                 const ad_rev y[], ad_real dy[])
{
    bool missing = adx_no_array(m, dy) || adx_no_array(n, dx);
    bool run;
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    if (status != ADREV_OK)
        return status;
    ad_real *tan = adx_cleared(t, 1, 0);
    if (tan == NULL)
        return ADREV_ENOMEM;

    for (size_t j = 0; j < n; j++)
        *adx_derivative(t, tan, x[j], 1) += dx[j];
    if (!adx_sweep(t, adx_forward_1, tan))
        return ADREV_EEXTERNAL;
    for (size_t i = 0; i < m; i++)
        dy[i] = y[i].job == 0 ? 0 : *adx_derivative(t, tan, y[i], 1);
    return ADREV_OK;
}

/* --- Jacobian ------------------------------------------------------------ */

// How many directions the next sweep does when `left` are left.
static size_t adx_width(size_t left, size_t most)
{
    size_t width = left > 4 ? ADX_WIDEST : left > 1 ? 4 : 1;
    return width < most ? width : most;
}

static bool adx_afford(ad_tape *t, size_t width)
{
    return adx_adjoints(t, adx_live(t)->seq, width) != NULL
        && (adx_annex_of(t) == NULL || adx_annex_of(t)->afford(t, width));
}

// One reverse sweep for `width` rows of a Jacobian; adj is cleared.
static bool adx_rows(const ad_tape *t, ad_real adj[], size_t width,
                     size_t first, size_t m, const ad_rev y[], size_t n,
                     const ad_rev x[], ad_real J[])
{
    for (size_t w = 0; w < width && first + w < m; w++)
        if (y[first + w].job != 0)
            adx_derivative(t, adj, y[first + w], width)[w] = 1;
    if (!adx_sweep(t, ADX_FOR_WIDTH(width, adx_reverse), adj))
        return false;
    if (ADX_WIDEST == 1) {
        adx_read(t, n, x, adj, false, J + first * n);
        return true;
    }
    size_t rows = m - first < width ? m - first : width;
    for (size_t j = 0; j < n; j++) {
        const ad_real *column = adx_derivative(t, adj, x[j], width);
        for (size_t w = 0; w < rows; w++)
            J[(first + w) * n + j] = column[w];
    }
    return true;
}

// One forward sweep for `width` columns; tan is cleared.
static bool adx_columns(const ad_tape *t, ad_real tan[], size_t width,
                        size_t first, size_t m, const ad_rev y[], size_t n,
                        const ad_rev x[], ad_real J[])
{
    for (size_t w = 0; w < width && first + w < n; w++)
        adx_derivative(t, tan, x[first + w], width)[w] = 1;
    if (!adx_sweep(t, ADX_FOR_WIDTH(width, adx_forward), tan))
        return false;
    for (size_t i = 0; i < m; i++)
        for (size_t w = 0; w < width && first + w < n; w++)
            J[i * n + first + w] = y[i].job == 0
                                 ? 0 : adx_derivative(t, tan, y[i], width)[w];
    return true;
}

static bool adx_prefers_forward(const ad_tape *t, size_t m, size_t n)
{
    return (n + 7) / 8 < (m + 7) / 8 && !t->one_way;
}

ADX_API ad_status ad_jacobian(ad_tape *t, size_t m, const ad_rev y[],
                              size_t n, const ad_rev x[], ad_real J[])
{
    bool missing = m > ADX_MOST_ELEMENTS
                || adx_no_array(adx_size_times(m, n), J);
    bool run;
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    if (status != ADREV_OK)
        return status;

    bool forward = adx_prefers_forward(t, m, n);
    size_t count = forward ? n : m;
    size_t most = ADX_WIDEST;
    while (most > 1 && !adx_afford(t, adx_width(count, most)))
        most = most == 8 ? 4 : 1;
    // All sweeps use this room: nothing in one of them may take adjoints of
    // this tape again, which writes there or frees it.
    ad_real *a = adx_uncleared(t, adx_width(count, most));
    if (a == NULL)
        return ADREV_ENOMEM;

    for (size_t i = 0; i < count;) {    // the widest sweep comes first
        size_t width = adx_width(count - i, most);
        adx_clear(t, a, width, forward ? 0 : t->floor.adx_seq);
        if (!(forward ? adx_columns(t, a, width, i, m, y, n, x, J)
                      : adx_rows(t, a, width, i, m, y, n, x, J)))
            return ADREV_EEXTERNAL;
        i += width;
    }
    return ADREV_OK;
}

/* === sweep/session ==========================================================
 * ad_grad and ad_jac: record a function, query it, and leave the tape as it
 * was. A session is a segment of the current recording with a job number of its
 * own, so whatever refers to it after its end is found to be foreign. The
 * arrays that the function is given are closed off by some further numbers, of
 * a job that no recording has: a use of x[n] is noticed.
 *
 *   needs   number/recording tape/layout tape/entries tape/hooks tape/life
 *           sweep/queries
 *   offers  adx_session adx_array adx_open_session adx_alive adx_close_session
 *           adx_on_tape ADX_BEYOND adx_close_off adx_is_closed_off
 *           adx_array_closed_off adx_unset adx_all_set adx_begin_inputs
 *           adx_check_results
 * ========================================================================== */

// A part of a recording: behind what is on the current tape, or, if none is
// current, on a tape that lives as long as the call.
typedef struct adx_session {
    ad_tape *tape;
    ad_tape *own;               // the same, if no tape was current; else NULL
    ad_mark mark;               // where the tape was
    size_t segment;             // of this session
    uint32_t job;               // of the segment
} adx_session;

// Memory for n numbers, on the tape. NULL: the status of the tape says why.
static ad_rev *adx_array(adx_session *s, size_t n)
{
    adx_context *c = &adx_now;

    if (n > ADREV_VALUES / 2 || n > SIZE_MAX / 4 / sizeof(ad_rev)) {
        adx_fail(s->tape, ADREV_ELIMIT);
        return NULL;
    }
    void *p = adx_add_bytes(c, ADX_DATA, n * sizeof(ad_rev), 0);
    if (p != NULL)
        memset(p, 0, n * sizeof(ad_rev));
    return (ad_rev *)p;
}

// Begins a session: a segment on the current tape, or on a tape of its own
// where there is none. What the segment records has another job, so nothing
// outside can refer to it after adx_close_session.
static ad_status adx_open_session(adx_session *s)
{
    s->own = NULL;
    s->tape = adx_now.tape;
#if !defined ADREV_NO_STDLIB && !ADREV_FIXED
    if (s->tape == NULL) {
        s->own = ad_tape_new();
        if (s->own == NULL)
            return ADREV_ENOMEM;
        s->tape = s->own;
        ad_use(s->own);
    }
#endif
    if (ad_tape_status(s->tape) != ADREV_OK)
        return ad_tape_status(s->tape);
    ad_tape *t = s->tape;
    if (t->segments > ADREV_MARKS)
        return ADREV_EMARK;
    s->mark = ad_tape_mark(t);
    s->segment = t->segments;
    s->job = adx_new_job(t);
    adx_begin_segment(t, s->segment, &s->mark, s->job, true);
    return ADREV_OK;
}

// Whether the user's function has left the session's tape intact: not cleared,
// and not rewound to before the session.
static bool adx_alive(const adx_session *s)
{
    const ad_tape *t = s->tape;
    return s->segment < t->segments && t->segment[s->segment].job == s->job;
}

static ad_status adx_close_session(adx_session *s, ad_status status)
{
    if (status == ADREV_OK)
        status = s->tape->status;
    ad_tape *t = s->tape;
    if (!adx_alive(s))
        status = ADREV_EMARK;
    else {
        adx_return_to(t, &s->mark);
        t->segments = (uint32_t)s->segment;
        adx_live(t)->job = t->segment[s->segment - 1].job;
    }
    ad_tape_free(s->own);
    return status;
}

// y as a value of t itself, imported if another tape of the recording has it.
static ad_rev adx_on_tape(ad_tape *t, ad_rev y)
{
    if (y.job == 0 || adx_member(t, y) || adx_annex_of(t) == NULL
        || t->status != ADREV_OK)
        return y;
    uint64_t id = adx_annex_of(t)->import(t, adx_word(&y));
    if (id != 0)
        adx_name(&y, y.v, id);
    return y;
}

// A result may belong to a branch that joined before the session began. The
// sweep of the session does not reach its tape. An input stands for it, so it
// counts as constant, like the older values of the tape itself.
static void adx_own_results_of(ad_tape *t, size_t m, ad_rev y[])
{
    for (size_t i = 0; adx_annex_of(t) != NULL && i < m; i++)
        if (!adx_member(t, y[i]) && adx_annex_of(t)->owner(t, y[i]) == NULL)
            y[i] = adx_on_tape(t, y[i]);
}

// The arrays that a function is given have this many further numbers, which are
// of no recording. A function that takes n or m for larger than they are uses
// them, and that is noticed.
#define ADX_BEYOND ((size_t)4)

static void adx_close_off(size_t n, ad_rev x[])
{
    for (size_t i = n; i < n + ADX_BEYOND; i++)
        x[i] = (ad_rev){ ADX_K(NAN), 1, ADX_JOB_BEYOND };
}

// Whether f has left these numbers as they were.
static bool adx_is_closed_off(size_t n, const ad_rev x[])
{
    for (size_t i = n; i < n + ADX_BEYOND; i++)
        if (x[i].job != ADX_JOB_BEYOND)
            return false;
    return true;
}

static ad_rev *adx_array_closed_off(adx_session *s, size_t n)
{
    size_t all = n <= SIZE_MAX - ADX_BEYOND ? n + ADX_BEYOND : n;
    ad_rev *x = adx_array(s, all);
    if (x != NULL)
        adx_close_off(n, x);
    return x;
}

#define ADX_NOT_SET UINT32_MAX      // seq of a result that no function has set

// Results before a function is called. Sums that are added up in them begin at
// 0.
static void adx_unset(size_t n, ad_rev y[])
{
    for (size_t i = 0; i < n; i++)
        y[i] = (ad_rev){ 0, ADX_NOT_SET, 0 };
}

// Whether the function has set all of them.
static bool adx_all_set(size_t n, const ad_rev y[])
{
    for (size_t i = 0; i < n; i++)
        if (y[i].seq == ADX_NOT_SET && y[i].job == 0)
            return false;
    return true;
}

// The inputs of f: constants where only its value is asked for.
static void adx_begin_inputs(size_t n, const ad_real x[], ad_rev in[],
                             bool value_only)
{
    if (!value_only)
        (ad_inputs)(n, x, in);
    for (size_t i = 0; value_only && i < n; i++)
        in[i] = adx_passive(x[i]);
}

// The status that a query would give for results whose values alone are wanted.
static ad_status adx_check_results(const ad_tape *t, size_t m,
                                   const ad_rev y[])
{
    ad_status status = ad_tape_status(t);
    if (status == ADREV_OK)
        status = adx_check_values(t, m, y, true, false);
    return status == ADREV_EPASSIVE ? ADREV_OK : status;
}

ADX_API ad_status ad_grad(ad_scalar_fn *f, void *ctx, size_t n,
                          const ad_real x[], ad_real *y, ad_real g[])
{
    static const ad_mark whole = {0};
    adx_session s;
    ad_status status = adx_open_session(&s);
    if (status != ADREV_OK)
        return status;

    ad_rev *in = adx_array_closed_off(&s, n);
    if (in != NULL
        && (f == NULL || (n > 0 && (x == NULL || (g == NULL && y == NULL)))))
        status = ADREV_ESHAPE;
    if (in != NULL && status == ADREV_OK) {
        adx_begin_inputs(n, x, in, g == NULL);
        ad_rev out = f(in, ctx);
        ad_use(s.tape);
        s.tape->floor = s.mark;
        if (adx_alive(&s))
            adx_own_results_of(s.tape, 1, &out);
        status = !adx_alive(&s) ? ADREV_EMARK
               : n == 0 || g == NULL ? adx_check_results(s.tape, 1, &out)
               : ad_gradient(s.tape, out, n, in, g);
        s.tape->floor = whole;
        if (status == ADREV_OK && y != NULL)
            *y = out.v;
    }
    return adx_close_session(&s, status);
}

ADX_API ad_status ad_jac(ad_vector_fn *f, void *ctx, size_t n,
                         const ad_real x[], size_t m, ad_real y[],
                         ad_real J[])
{
    static const ad_mark whole = {0};
    adx_session s;
    ad_status status = adx_open_session(&s);
    if (status != ADREV_OK)
        return status;

    ad_rev *in = adx_array_closed_off(&s, n);
    ad_rev *out = in == NULL ? NULL : adx_array_closed_off(&s, m);
    if (out != NULL
        && (f == NULL || (n > 0 && (x == NULL || (m > 0 && J == NULL
                                                  && y == NULL)))))
        status = ADREV_ESHAPE;
    if (out != NULL && status == ADREV_OK) {
        adx_begin_inputs(n, x, in, J == NULL);
        adx_unset(m, out);
        f(in, out, ctx);
        ad_use(s.tape);
        s.tape->floor = s.mark;
        if (adx_alive(&s))
            adx_own_results_of(s.tape, m, out);
        status = !adx_alive(&s) ? ADREV_EMARK
               : s.tape->status != ADREV_OK ? s.tape->status
               : !adx_is_closed_off(m, out) ? ADREV_EBEYOND
               : !adx_all_set(m, out) ? ADREV_ESHAPE
               : n == 0 || J == NULL ? adx_check_results(s.tape, m, out)
               : ad_jacobian(s.tape, m, out, n, in, J);
        s.tape->floor = whole;
        for (size_t i = 0; status == ADREV_OK && y != NULL && i < m; i++)
            y[i] = out[i].v;
    }
    return adx_close_session(&s, status);
}

/* === core/special ===========================================================
 * Functions that rows of the operator table call, and that are too long to
 * inline. They are compiled here only; code/text has them as text.
 *
 *   needs   core/config core/types core/operations
 *   offers  ADX_LONG ADX_LONG_SELDOM ADX_BESSELS
 * ========================================================================== */

/* --- functions as text ------------------------------------------------------
 * As in ADX_HELPERS, each row makes a function adx_name, and its text for
 * generated C: with a name, parameters and a body. A function stands behind
 * those that it calls. A PART is called from here only.
 *
 * pi_cot_pi     pi/tan(pi x). The argument is reduced so that neither end of a
 *               period loses digits
 * near_root     digamma at a distance h from its positive root, of at most 1/4:
 *               a Taylor series, whose next term is below 2^-60 of the first.
 *               The general formula would cancel here
 * digamma       below 1/2 by reflection, up to 10 by recurrence, and from there
 *               by the asymptotic series, whose next term is below 2^-58. The
 *               error is 3 ulp for x > 0; for x < 0 it is relative to the
 *               larger of the two terms that cancel. The root is
 *               1.46163214496836234126..., in two parts: float and the rest,
 *               double and the rest. `low` is what rounding took from `shift`
 * cot_dx        the derivative of order n, at most 20, of u = pi cot(pi x).
 *               Since u' = -(pi^2 + u^2), it is a polynomial in u, with
 *               coefficients p[j]: each round differentiates all terms p[j] u^j
 * polygamma     the derivative of order k of digamma. The recurrence raises x
 *               to at least 15 + k, where the asymptotic series follows, with
 *               the coefficients B(2j)/(2j)!; the first term that is left out
 *               is below 1e-17 of the first. An x far below zero is reflected
 *               to 1 - x. From the order 171 on, k! is infinite, and the
 *               recurrence endless
 * log_add_exp   log(exp(x) + exp(y)) without overflow
 * share_of_exp  how much of exp(x) + exp(y) is exp(x); a half at a tie, also of
 *               infinities. exp would magnify the rounding error `low` of x - y
 */

// clang-format off
#define ADX_LONG(ROW, PART)                                                 \
    PART( pi_cot_pi, (ad_real x),                                           \
        const ad_real pi = ADX_K(3.14159265358979323846);                   \
        const ad_real half = 1 / (ad_real)2;                                \
        ad_real r = x - adm_round(x);                                       \
        if (adm_fabs(r) < half / 2)                                         \
            return pi / adm_tan(pi * r);                                    \
        return pi * adm_tan(pi * (r > 0 ? half - r : -half - r)); )         \
    PART( near_root, (ad_real h),                                           \
        static const double c[22] = {                                       \
            0.96767224544762117043,  -0.44276316898359210609,               \
            0.25849976095565101062,  -0.16394270544240652750,               \
            0.10782405069126236576,  -0.072199561256454710926,              \
            0.048804288164143107225, -0.033161126474847359292,              \
            0.022597648232218104660, -0.015424765904948959139,              \
            0.010538791616612175388, -0.0072045343863568682410,             \
            0.0049267813957298534464, -0.0033698016554393280828,            \
            0.0023051263267349278369, -0.0015769367714301972593,            \
            0.0010788252019162965807, -0.00073807093899600512957,           \
            0.00050495326583460203518, -0.00034546802510630769956,          \
            0.00023635601564027052792, -0.00016170622091974803449           \
        };                                                                  \
        ad_real sum = 0;                                                    \
        int i;                                                              \
        for (i = 21; i >= 0; i--)                                           \
            sum = sum * h + (ad_real)c[i];                                  \
        return sum * h; )                                                   \
    ROW( digamma, (ad_real x),                                              \
        static const double bernoulli[8] = {                                \
            1 / 12., -1 / 120., 1 / 252., -1 / 240., 1 / 132., -691 / 32760., \
            1 / 12., -3617 / 8160.                                          \
        };                                                                  \
        const int narrow = sizeof(ad_real) == 4;                            \
        const ad_real root = narrow ? ADX_K(0x1.762d86p+0)                  \
                                    : ADX_K(1.4616321449683622458);         \
        const ad_real rest = narrow ? ADX_K(0x1.ab5f2p-27)                  \
                                    : ADX_K(9.5499954299656974e-17);        \
        ad_real below = 0, shift = 0, low = 0, sum = 0, r;                  \
        int i;                                                              \
        if (x == 0)                                                         \
            return -adm_copysign((ad_real)HUGE_VAL, x);                     \
        if (x < 0 && x == adm_floor(x))                                     \
            return (ad_real)NAN;                                            \
        if (x < 1 / (ad_real)2) {                                           \
            below = adx_pi_cot_pi(x);                                       \
            x = 1 - x;                                                      \
        }                                                                   \
        if (adm_fabs(x - root) < 1 / (ad_real)4)                            \
            return adx_near_root(x - root - rest) - below;                  \
        for (; x < 10; x++) {                                               \
            r = shift + 1 / x;                                              \
            low += 1 / x - (r - shift);                                     \
            shift = r;                                                      \
        }                                                                   \
        r = 1 / x / x;                                                      \
        for (i = 7; i >= 0; i--)                                            \
            sum = (sum + (ad_real)bernoulli[i]) * r;                        \
        return adm_log(x) - shift - (1 / (2 * x) + sum + low) - below; )    \
    ROW( log_add_exp, (ad_real x, ad_real y),                               \
        return x == y ? x + ADX_K(0.69314718055994530942)                   \
             : (x > y ? x : y) + adm_log1p(adm_exp(-adm_fabs(x - y))); )    \
    ROW( share_of_exp, (ad_real x, ad_real y),                              \
        ad_real d = x - y;                                                  \
        ad_real back = d - x;                                               \
        ad_real low = x - (d - back) - (y + back);                          \
        ad_real t = adm_exp(-adm_fabs(d));                                  \
        ad_real v = d >= 0 ? 1 / (1 + t) : t / (1 + t);                     \
        return x == y ? 1 / (ad_real)2                                      \
             : low - low == 0 ? v + v * (1 - v) * low : v; )

// Nearly all of their time is pow's.
#define ADX_LONG_SELDOM(ROW, PART)                                          \
    PART( cot_dx, (int n, double x),                                        \
        const double pi = 3.14159265358979323846;                           \
        double p[24] = { 0 };                                               \
        double u = (double)adx_pi_cot_pi((ad_real)x), sum = 0;              \
        int degree, j;                                                      \
        p[1] = 1;                                                           \
        for (degree = 1; degree <= n; degree++) {                           \
            double before = 0;                                              \
            for (j = 0; j <= degree + 1; j++) {                             \
                double old = p[j];                                          \
                p[j] = -pi * pi * (j + 1) * p[j + 1] - (j - 1) * before;    \
                before = old;                                               \
            }                                                               \
        }                                                                   \
        for (j = n + 1; j >= 0; j--)                                        \
            sum = sum * u + p[j];                                           \
        return (ad_real)sum; )                                              \
    ROW( polygamma, (ad_real k, ad_real x),                                 \
        static const double bernoulli[8] = {                                \
            1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600,              \
            1.0 / 47900160, -691.0 / 1307674368000, 1.0 / 74724249600,      \
            -3617.0 / 10670622842880000                                     \
        };                                                                  \
        double n = (double)k, z = (double)x, sum = 0, rising = 1, tail;     \
        const double sign = fmod(n, 2) == 0 ? 1 : -1;                       \
        ad_real less = 0, v;                                                \
        int j, far = 0;                                                     \
        if (!(n >= 0 && n <= 170 && n == floor(n)) || z != z)               \
            return (ad_real)NAN;                                            \
        if (n == 0)                                                         \
            return adx_digamma(x);                                          \
        if (z <= 0 && z == floor(z))                                        \
            return z - z != 0 || (z != 0 && sign > 0) ? (ad_real)NAN        \
                 : sign < 0 ? (ad_real)HUGE_VAL                             \
                 : -adm_copysign((ad_real)HUGE_VAL, x);                     \
        if (z < -20 && n <= 20) {                                           \
            far = 1;                                                        \
            less = adx_cot_dx((int)n, z);                                   \
            x = 1 - x;                                                      \
            z = (double)x;                                                  \
        }                                                                   \
        if (z < -1e6)                                                       \
            return (ad_real)NAN;                                            \
        for (; z < 15 + n; z++)                                             \
            sum += pow(z, -(n + 1));                                        \
        tail = pow(z, -n) / n + pow(z, -(n + 1)) / 2;                       \
        for (j = 1; j <= 8; j++) {                                          \
            const double i = 2 * (double)j;                                 \
            rising *= j == 1 ? n + 1 : (n + i - 2) * (n + i - 1);           \
            tail += bernoulli[j - 1] * rising * pow(z, -(n + i));           \
        }                                                                   \
        v = (ad_real)(-sign * tgamma(n + 1) * (sum + tail));                \
        return far ? (ad_real)sign * v - less : v; )
// clang-format on

#define ADX_DEFINE(name, parameters, ...)                                   \
    ADX_NOINLINE ADX_API ad_real adx_##name parameters { __VA_ARGS__ }
#define ADX_DEFINE_PART(name, parameters, ...)                              \
    static ad_real adx_##name parameters { __VA_ARGS__ }
ADX_LONG(ADX_DEFINE, ADX_DEFINE_PART)
ADX_SELDOM_BEGIN
ADX_LONG_SELDOM(ADX_DEFINE, ADX_DEFINE_PART)
ADX_SELDOM_END
#undef ADX_DEFINE
#undef ADX_DEFINE_PART

/* --- Bessel functions -------------------------------------------------------
 * Those of the C library, in double, which strict C11 does not declare. Of
 * order 0 and 1 they are its j0, j1, y0 and y1. An order beyond a million gives
 * NaN: the recurrences of some libraries take as many steps. So does yn of a
 * negative number, where POSIX allows -HUGE_VAL, too.                        */

#ifdef ADREV_NO_BESSEL
#define ADX_BESSEL(name) return (double)NAN + n + x;
#elif defined _WIN32
#define ADX_BESSEL(name)                                                    \
    extern double _##name(int, double);                                     \
    return _##name(n, x);
#else
#define ADX_BESSEL(name)                                                    \
    extern double name(int, double);                                        \
    return name(n, x);
#endif
static double adx_libm_jn(int n, double x) { ADX_BESSEL(jn) }
static double adx_libm_yn(int n, double x) { ADX_BESSEL(yn) }
#undef ADX_BESSEL

#define ADX_BESSELS(ROW)                                                    \
    ROW( jn, (ad_real n, ad_real x),                                        \
        return adm_fabs(n) <= 1000000 && n == adm_floor(n)                  \
             ? (ad_real)adx_libm_jn((int)n, (double)x) : (ad_real)NAN; )    \
    ROW( yn, (ad_real n, ad_real x),                                        \
        return adm_fabs(n) <= 1000000 && n == adm_floor(n) && x >= 0        \
             ? (ad_real)adx_libm_yn((int)n, (double)x) : (ad_real)NAN; )
#define ADX_DEFINE(name, parameters, ...)                                   \
    ADX_NOINLINE ADX_API ad_real adx_##name parameters { __VA_ARGS__ }
ADX_BESSELS(ADX_DEFINE)
#undef ADX_DEFINE

/* === core/incomplete ========================================================
 * The incomplete gamma functions, and their derivatives with respect to the
 * shape a, as text and as functions (see core/special; a PART has its type
 * first). They are compiled here only.
 *
 *     P(a, x) is the integral of f(t) from 0 to x, Q(a, x) = 1 - P(a, x)
 *     f(t) = t^(a-1) exp(-t) / Gamma(a)
 *
 * With D = x^a exp(-x) / Gamma(a+1), L = log x - digamma(a+1), t = x exp(u)
 *
 *     f(t) dt = a D exp(a u - x (exp(u) - 1)) du
 *
 * and each derivative with respect to a multiplies it by a polynomial in L + u:
 * Bell's, of the cumulants L + u, -digamma'(a+1), -digamma''(a+1) and so on.
 * The first one has one sign on either side of t = exp(digamma(a)), so it is
 * integrated from x away from there, and nothing cancels. Sixteen points of
 * Gauss and Legendre see all of a panel that is short where the integrand is
 * steep or bent.
 *
 * The value is that integral, too, where a is large and x near it; elsewhere it
 * is the series or the continued fraction (A. Gil, J. Segura, N. Temme:
 * Efficient and accurate algorithms for the computation and inversion of the
 * incomplete gamma function ratios, 2012). D takes a long double, as its
 * exponent may be -700: where that has 53 bits, tails lose as many ulps.
 *
 * log1p_less    log(1 + x) - x for |x| <= 1/2
 * bend          exp(u) - 1 - u
 * stirling      log Gamma(x+1) less Stirling's formula, for x >= 20
 * gamma_factor  D / x^p. An a below 20 is raised to at least 20
 * gamma_slope   L
 * gamma_bell    a B(k) + k B(k-1): the polynomial of order k, times a. `part`
 *               has the polygammas
 * gauss_node    the places in [-1, 1] of the rule of Gauss and Legendre with
 *               sixteen points, and gauss_weight their weights
 * gamma_tail    the integral, to the right of x or (side -1) to the left of it,
 *               of the derivative of order k, over D
 * gamma_value   P, or Q
 * shape_slope   the derivative of P of order x with respect to its shape y, at
 *               z. From the order 9 on NaN
 * shape_density the same of f. The limits at z = 0 serve also a shape that is
 *               smaller by 1, as the partial of f needs it
 *
 * No long double waits for a call while an expression is computed: tcc would
 * leave it on the stack of the floating unit, where the callee has no room. For
 * the same reason no argument is cast to long double where it is passed.
 *
 *   needs   core/config core/types core/operations
 *   offers  ADX_INCOMPLETE
 * ========================================================================== */

// clang-format off
#define ADX_INCOMPLETE(ROW, PART)                                           \
    PART( long double, log1p_less, (long double x),                         \
        const long double r = x / (2 + x);                                  \
        const long double s = r * r;                                        \
        long double sum = 0, power = 1, before = -1;                        \
        int j;                                                              \
        for (j = 3; sum != before; j += 2) {                                \
            before = sum;                                                   \
            sum += power / j;                                               \
            power *= s;                                                     \
        }                                                                   \
        return r * (2 * s * sum - x); )                                     \
    PART( double, bend, (double u),                                         \
        double s = 1;                                                       \
        int j;                                                              \
        if (!(fabs(u) < 0.5))                                               \
            return expm1(u) - u;                                            \
        for (j = 15; j >= 3; j--)                                           \
            s = 1 + s * u / j;                                              \
        return u * u / 2 * s; )                                             \
    PART( double, stirling, (double x),                                     \
        const double r = 1 / (x * x);                                       \
        return (1 / 12. - r * (1 / 360. - r * (1 / 1260. - r * (1 / 1680.   \
             - r * (1 / 1188. - r * (691 / 360360.)))))) / x; )             \
    PART( long double, gamma_factor, (long double a, long double x, int p), \
        const long double turn = 6.28318530717958647692528676655900577L;    \
        const long double place = logl(x);                                  \
        long double rising = 1, far = a, h, root;                           \
        for (; far < 20; far += 1)                                          \
            rising *= far + 1;                                              \
        h = logl(far);                                                      \
        if (far != a)                                                       \
            h = (far - p) * place - (far - a) * place - x - far * h + far;  \
        else if (x > far / 2 && x < far + far / 2) {                        \
            h = adx_log1p_less((x - far) / far);                            \
            h = far * h - p * place;                                        \
        } else {                                                            \
            h = logl(x / far);                                              \
            h = far * h - (x - far) - p * place;                            \
        }                                                                   \
        root = (long double)adx_stirling((double)far);                      \
        h = expl(h - root);                                                 \
        root = sqrtl(turn * far);                                           \
        return rising * h / root; )                                         \
    PART( double, gamma_slope, (long double a, long double x),              \
        static const double bernoulli[8] = {                                \
            1 / 12., -1 / 120., 1 / 252., -1 / 240., 1 / 132., -691 / 32760., \
            1 / 12., -3617 / 8160.                                          \
        };                                                                  \
        long double z = 1 + a, rest = 0, sum = 0, r;                        \
        int i;                                                              \
        for (; z < 20; z += 1)                                              \
            rest += 1 / z;                                                  \
        r = 1 / z / z;                                                      \
        for (i = 7; i >= 0; i--)                                            \
            sum = (sum + (long double)bernoulli[i]) * r;                    \
        rest += 1 / (2 * z) + sum;                                          \
        if (x > z / 2 && x < 2 * z)                                         \
            return (double)(log1pl((x - z) / z) + rest);                    \
        r = logl(x);                                                        \
        z = logl(z);                                                        \
        return (double)(r - z + rest); )                                    \
    PART( double, gamma_bell, (int k, double a, double l, const double *part), \
        double b[9] = { 1 };                                                \
        int i, n;                                                           \
        for (n = 0; n < k; n++) {                                           \
            double choose = 1;                                              \
            b[n + 1] = l * b[n];                                            \
            for (i = 1; i <= n; i++) {                                      \
                choose = choose * (n - i + 1) / i;                          \
                b[n + 1] -= choose * part[i] * b[n - i];                    \
            }                                                               \
        }                                                                   \
        return k == 0 ? a : a * b[k] + k * b[k - 1]; )                      \
    PART( double, gauss_node, (int i),                                      \
        static const double node[8] = {                                     \
            0.9894009349916499326, 0.9445750230732325760,                   \
            0.8656312023878317438, 0.7554044083550030339,                   \
            0.6178762444026437484, 0.4580167776572273863,                   \
            0.2816035507792589132, 0.0950125098376374401                    \
        };                                                                  \
        return i < 8 ? -node[i] : node[i - 8]; )                            \
    PART( double, gauss_weight, (int i),                                    \
        static const double weight[8] = {                                   \
            0.0271524594117540948, 0.0622535239386478928,                   \
            0.0951585116824927848, 0.1246289712555338720,                   \
            0.1495959888165767320, 0.1691565193950025381,                   \
            0.1826034150449235888, 0.1894506104550684962                    \
        };                                                                  \
        return weight[i % 8]; )                                             \
    PART( double, gamma_tail, (int k, double a, double x, double l, int side), \
        double part[9] = { 0 };                                             \
        double u = 0, sum = 0, fall = 0;                                    \
        int i, panel;                                                       \
        for (i = 1; i < k; i++)                                             \
            part[i] = (double)adx_polygamma((ad_real)i, (ad_real)(a + 1));  \
        for (panel = 0; panel < 500 && fall < 50; panel++) {                \
            const double steep = x * exp(side * u);                         \
            const double even = (8 + fall / 2) / fabs(a - steep);           \
            const double bent = log1p(4 / sqrt(steep));                     \
            const double h = (even < bent ? even : bent) / 2;               \
            double inner = 0;                                               \
            for (i = 0; i < 16; i++) {                                      \
                const double s = u + h * (1 + adx_gauss_node(i));           \
                const double e = side * (a - x) * s - x * adx_bend(side * s); \
                inner += adx_gauss_weight(i) * exp(e)                       \
                       * adx_gamma_bell(k, a, l + side * s, part);          \
            }                                                               \
            sum += h * inner;                                               \
            u += 2 * h;                                                     \
            fall = x * adx_bend(side * u) - side * (a - x) * u;             \
        }                                                                   \
        return sum; )                                                       \
    PART( long double, gamma_series, (long double a, long double x),        \
        long double sum = 0, term = 1;                                      \
        int i;                                                              \
        for (i = 1; term > sum / 1e19L; i++) {                              \
            sum += term;                                                    \
            term *= x / (a + i);                                            \
        }                                                                   \
        return sum; )                                                       \
    PART( long double, gamma_fraction, (long double a, long double x),      \
        long double b = x + 1 - a;                                          \
        long double d = 1 / b;                                              \
        long double product = d, c = b, factor = 0, q;                      \
        int i;                                                              \
        for (i = 1; i < 500 && fabsl(factor - 1) > 1e-18L; i++) {           \
            q = i * (a - i);                                                \
            b += 2;                                                         \
            c = i == 1 ? b : b + q / c;                                     \
            d = 1 / (q * d + b);                                            \
            factor = c * d;                                                 \
            product *= factor;                                              \
        }                                                                   \
        return product; )                                                   \
    PART( double, gamma_value, (double a, double x, int upper),             \
        long double p = (long double)a, q = (long double)x, value;          \
        double l;                                                           \
        int right;                                                          \
        if (!(a >= 0 && x >= 0) || (a == x && (a == 0 || a - a != 0)))      \
            return (double)NAN;                                             \
        if (a == 0 || x == 0 || a - a != 0 || x - x != 0)                   \
            return (a == 0 || x - x != 0) != upper;                         \
        l = adx_gamma_slope(p, q);                                          \
        right = a * l >= -1;                                                \
        if (!right && (a < 60 || x < a * 0.7))                              \
            value = adx_gamma_series(p, q);                                 \
        else if (right && x > 4 && (x > a * 1.4 || (a < 60 && x > a + 3)))  \
            value = adx_gamma_fraction(p, q) * p;                           \
        else                                                                \
            value = (long double)adx_gamma_tail(0, a, x, l, right ? 1 : -1); \
        p = adx_gamma_factor(p, q, 0);                                      \
        value *= p;                                                         \
        return (double)(right == upper ? value : 1 - value); )              \
    ROW( gamma_p, (ad_real x, ad_real y),                                   \
        return (ad_real)adx_gamma_value((double)x, (double)y, 0); )         \
    ROW( gamma_q, (ad_real x, ad_real y),                                   \
        return (ad_real)adx_gamma_value((double)x, (double)y, 1); )         \
    ROW( shape_slope, (ad_real x, ad_real y, ad_real z),                    \
        const double k = (double)x, a = (double)y, p = (double)z;           \
        const long double wide_a = (long double)a, wide_p = (long double)p; \
        double l, value;                                                    \
        int right;                                                          \
        if (!(k >= 1 && k <= 8 && k == floor(k) && a >= 0 && p >= 0)        \
            || (a == p && (a == 0 || a - a != 0)))                          \
            return (ad_real)NAN;                                            \
        if (p == 0 || p - p != 0 || a - a != 0)                             \
            return 0;                                                       \
        l = adx_gamma_slope(wide_a, wide_p);                                \
        right = a * l >= -1;                                                \
        value = adx_gamma_tail((int)k, a, p, l, right ? 1 : -1);            \
        l = (double)adx_gamma_factor(wide_a, wide_p, 0);                    \
        value *= l;                                                         \
        return (ad_real)(right ? -value : value); )                         \
    ROW( shape_density, (ad_real x, ad_real y, ad_real z),                  \
        const double k = (double)x, a = (double)y, p = (double)z;           \
        const long double wide_a = (long double)a, wide_p = (long double)p; \
        const double odd = fmod(k, 2) == 0 ? 1 : -1;                        \
        double part[9] = { 0 }, l;                                          \
        long double factor;                                                 \
        int i;                                                              \
        if (!(k >= 0 && k <= 8 && k == floor(k) && p >= 0)                  \
            || !(p == 0 ? a > -1 : a >= 0)                                  \
            || (a == p && (a == 0 || a - a != 0)))                          \
            return (ad_real)NAN;                                            \
        if (p - p != 0 || a - a != 0 || (p == 0 && a > 1))                  \
            return 0;                                                       \
        if (p == 0)                                                         \
            return k == 0 && a == 1 ? 1                                     \
                 : (ad_real)(a > 0 ? odd * HUGE_VAL : -odd * HUGE_VAL);     \
        for (i = 1; i < k; i++)                                             \
            part[i] = (double)adx_polygamma((ad_real)i, (ad_real)(a + 1));  \
        l = adx_gamma_slope(wide_a, wide_p);                                \
        l = adx_gamma_bell((int)k, a, l, part);                             \
        factor = adx_gamma_factor(wide_a, wide_p, 1);                       \
        return (ad_real)((long double)l * factor); )

// clang-format on

#define ADX_DEFINE(name, parameters, ...)                                   \
    ADX_NOINLINE ADX_API ad_real adx_##name parameters { __VA_ARGS__ }
#define ADX_DEFINE_PART(type, name, parameters, ...)                        \
    static type adx_##name parameters { __VA_ARGS__ }
ADX_SELDOM_BEGIN
ADX_INCOMPLETE(ADX_DEFINE, ADX_DEFINE_PART)
ADX_SELDOM_END
#undef ADX_DEFINE
#undef ADX_DEFINE_PART

/* === core/beta =============================================================
 * The incomplete beta functions, and their derivatives with respect to the
 * shapes a and b, as text and as functions (see core/special and
 * core/incomplete). They are compiled here only.
 *
 *     I(a, b, x) is the integral of f(t) from 0 to x
 *     f(t) = t^(a-1) (1-t)^(b-1) / B(a, b)
 *
 * With y = 1 - x, c = a + b, t/(1-t) = x/y exp(-u), and
 *
 *     D  = x^a y^b Gamma(c+1) / (Gamma(a+1) Gamma(b+1)),  W = a b / c
 *     La = log t - digamma(a+1) + digamma(c+1)
 *     Lb = log(1-t) - digamma(b+1) + digamma(c+1)
 *
 * f(t) dt is D W (t/x)^a ((1-t)/y)^b du, and a derivative with respect to a or
 * b multiplies it by a polynomial in La and Lb. The first one, La + b/(a c),
 * has one sign on either side of its zero, and its whole integral is 0: so it
 * is integrated from x away from there, and nothing cancels. What of Gamma(a)
 * is infinite at 0 is in W, so that a shape may be 0.
 *
 * The integrand is a bell in u, with singularities where t/(1-t) is -1, at a
 * distance pi from the line. Sixteen points of Gauss and Legendre see all of a
 * panel that is at most 3 wide near t = 1/2, and everywhere short where the
 * integrand is steep or bent.
 *
 * log_share       log x, for y = 1 - x
 * polygamma_gap   the size of the difference of the polygamma functions of
 *                 order n, 0 or 1, at z and z + b, as a sum of differences that
 *                 do not cancel: two digammas would lose 1e5 ulps
 * beta_slope_at   b x - a y, exact but for the last rounding
 * beta_factor     D / (x y)^p. Shapes below 20 are raised to at least 20; what
 *                 that changes is divided by powers that are left out of the
 *                 sum
 * log1p_bend      log(1 + z) - z for |z| <= 1/4
 * beta_logs       l: La, Lb, dLa/da, dLb/db and dLa/db, which is dLb/da, at x;
 *                 the derivatives of them only for `order` 2
 * beta_bell       the polynomial of order j in a and k in b, times W
 * beta_fall       minus the logarithm of (t/x)^a ((1-t)/y)^b, `at` being what
 *                 log t and log(1-t) are more than at x
 * beta_tail       the derivative of order j in a and k in b of the integral
 *                 from 0 to x
 * beta_part       the same of that side of x where nothing cancels, or of the
 *                 smaller one; `side` is 1 if that is the right one, of which
 *                 derivatives are minus those of I. Shapes near 0 that both
 *                 underflow are scaled: I depends on their ratio. One alone
 *                 makes its side too long to be integrated
 * beta_known      0 or 1 where I is that because the other side is empty, -1
 *                 where it has no value, 2 anywhere else
 * beta_value      I, or (upper) 1 - I
 * beta_slope      the derivative of I of order j in a and k in b, at x: 1 or 2
 *                 together
 * beta_density    the same of f, of at most 1. At x = 0 and 1 these are limits
 *
 *   needs   core/config core/types core/operations
 *   offers  ADX_INCOMPLETE_BETA
 * ========================================================================== */

// clang-format off
#define ADX_INCOMPLETE_BETA(ROW, PART)                                      \
    PART( long double, log_share, (long double x, long double y),           \
        return x < y ? logl(x) : log1pl(-y); )                              \
    PART( long double, polygamma_gap, (int n, double from, double by),      \
        static const double bernoulli[8] = {                                \
            1 / 12., -1 / 120., 1 / 252., -1 / 240., 1 / 132., -691 / 32760., \
            1 / 12., -3617 / 8160.                                          \
        };                                                                  \
        const long double b = (long double)by;                              \
        long double z = (long double)from, sum = 0, power, ratio, gap;      \
        int j;                                                              \
        for (; z < 20; z += 1) {                                            \
            gap = b / (z + b) / z;                                          \
            sum += n == 0 ? gap : gap / z + gap / (z + b);                  \
        }                                                                   \
        ratio = log1pl(b / z);                                              \
        gap = -expm1l(-ratio);                                              \
        sum += n == 0 ? ratio + gap / (2 * z)                               \
                      : gap / z + gap * (2 - gap) / (2 * z * z);            \
        power = n == 0 ? 1 : 1 / z;                                         \
        for (j = 1; j <= 8; j++) {                                          \
            gap = -expm1l(-(2 * j + n) * ratio);                            \
            power = power / z / z;                                          \
            gap *= n == 0 ? 1 : 2 * j;                                      \
            sum += (long double)bernoulli[j - 1] * power * gap;             \
        }                                                                   \
        return sum; )                                                       \
    PART( long double, beta_slope_at, (double shape_a, double shape_b,      \
                                       long double x, long double y),       \
        const long double a = (long double)shape_a;                         \
        const long double b = (long double)shape_b;                         \
        const long double c = a + b;                                        \
        const long double rest = a > b ? b - (c - a) : a - (c - b);         \
        const long double most = x < y ? fmal(x, c, -a) : -fmal(y, c, -b);  \
        return most + (x < y ? x : -y) * rest; )                            \
    PART( long double, beta_factor, (double shape_a, double shape_b,        \
                                     long double x, long double y, int p),  \
        const long double turn = 6.28318530717958647692528676655900577L;    \
        const long double a = (long double)shape_a;                         \
        const long double b = (long double)shape_b;                         \
        const long double slope = adx_beta_slope_at(shape_a, shape_b, x, y); \
        const long double least = a < b ? a : b;                            \
        const long double log_x = adx_log_share(x, y);                      \
        const long double log_y = adx_log_share(y, x);                      \
        const int up_a = a < 20 ? 20 - (int)a : 0;                          \
        const int up_b = b < 20 ? 20 - (int)b : 0;                          \
        const long double far_a = a + up_a, far_b = b + up_b;               \
        const long double c = far_a + far_b;                                \
        long double rising = 1, h, k, sum;                                  \
        int i;                                                              \
        for (i = 0; i < up_a; i++)                                          \
            rising *= (far_a - i) / far_a;                                  \
        for (i = 0; i < up_b; i++)                                          \
            rising *= (far_b - i) / far_b;                                  \
        for (i = 0; i < up_a + up_b; i++)                                   \
            rising *= c / (c - i);                                          \
        if (least >= 20 && fabsl(slope) <= least / 2) {                     \
            h = adx_log1p_less(slope / far_a);                              \
            k = adx_log1p_less(-slope / far_b);                             \
            sum = far_a * h + far_b * k;                                    \
        } else {                                                            \
            h = log1pl(far_b / far_a);                                      \
            k = log1pl(far_a / far_b);                                      \
            sum = a * (h + log_x) + b * (k + log_y);                        \
        }                                                                   \
        h = (long double)adx_stirling((double)far_a);                       \
        k = (long double)adx_stirling((double)far_b);                       \
        sum -= h + k + p * (log_x + log_y);                                 \
        h = (long double)adx_stirling((double)c);                           \
        h = expl(sum + h);                                                  \
        k = sqrtl(c / far_a / far_b / turn);                                \
        return rising * h * k; )                                            \
    PART( double, log1p_bend, (double z),                                   \
        const double r = z / (2 + z);                                       \
        const double s = r * r;                                             \
        double sum = 0;                                                     \
        int j;                                                              \
        for (j = 21; j >= 3; j -= 2)                                        \
            sum = sum * s + 1. / j;                                         \
        return r * (2 * s * sum - z); )                                     \
    PART( void, beta_logs, (int order, double a, double b, long double x,   \
                            long double y, double *l),                      \
        long double h = adx_log_share(x, y), k;                             \
        k = adx_polygamma_gap(0, a + 1, b);                                 \
        l[0] = (double)(h + k);                                             \
        h = adx_log_share(y, x);                                            \
        k = adx_polygamma_gap(0, b + 1, a);                                 \
        l[1] = (double)(h + k);                                             \
        if (order < 2)                                                      \
            return;                                                         \
        l[2] = -(double)adx_polygamma_gap(1, a + 1, b);                     \
        l[3] = -(double)adx_polygamma_gap(1, b + 1, a);                     \
        l[4] = (double)adx_polygamma(1, (ad_real)(a + b + 1)); )            \
    PART( double, beta_bell, (int j, int k, double a, double b,             \
                              const double *l),                             \
        const double c = a + b, w = a / c * b;                              \
        const double wa = b / c * (b / c), wb = a / c * (a / c);            \
        const double way = j > 0 ? wa : wb, log = j > 0 ? l[0] : l[1];      \
        if (j == 1 && k == 1)                                               \
            return w * (l[0] * l[1] + l[4]) + wa * l[1] + wb * l[0]         \
                 + 2 * (a / c) * (b / c) / c;                               \
        return j + k == 0 ? w : j + k == 1 ? w * log + way                  \
             : w * (log * log + (j > 0 ? l[2] : l[3]))                      \
               + 2 * way * (log - 1 / c); )                                 \
    PART( double, beta_fall, (double u, double a, double b, double x,       \
                              double y, double slope, double *at),          \
        const double left = x * expm1(-u), right = y * expm1(u);            \
        at[1] = left > -0.5 ? -log1p(left) : -log(y + x * exp(-u));         \
        at[0] = right < 0.5 ? -log1p(right)                                 \
              : u < 700 ? -log(x + y * exp(u)) : at[1] - u;                 \
        if (x < y ? left < -0.25 : right > 0.25)                            \
            return -(a * at[0] + b * at[1]);                                \
        return (a + b) * (x < y ? adx_log1p_bend(left) + x * adx_bend(-u)   \
                              : adx_log1p_bend(right) + y * adx_bend(u))    \
             - slope * u; )                                                 \
    PART( double, beta_tail, (int j, int k, double a, double b,             \
                              long double wide_x, long double wide_y),      \
        const double x = (double)wide_x, y = (double)wide_y;                \
        const double slope = (double)adx_beta_slope_at(a, b, wide_x,   \
                                                       wide_y);      \
        double l[5] = { 0 }, at[2], m[5];                                   \
        double u = 0, sum = 0, fall = 0;                                    \
        int i, panel;                                                       \
        adx_beta_logs(j + k, a, b, wide_x, wide_y, l);                      \
        for (i = 2; i < 5; i++)                                             \
            m[i] = l[i];                                                    \
        for (panel = 0; panel < 500 && fall < 50; panel++) {                \
            const double t = x / (x + y * exp(u));                          \
            const double rest = y / (y + x * exp(-u));                      \
            const double bow = 4 / sqrt((a + b) * t * rest);                \
            const double bent = t < 0.5 ? bow : log1p(bow);                 \
            const double even = (8 + fall / 2) / fabs(a * rest - b * t);    \
            const double place = log(x) - log(y) - u;                       \
            const double clear = t < 1e-20 && (a + b) * t < 1e-20 ? HUGE_VAL \
                               : fmax(3, place > 0 ? place / 2 : -place);   \
            const double h = fmin(fmin(even, bent), clear) / 2;             \
            double inner = 0;                                               \
            for (i = 0; i < 16; i++) {                                      \
                const double s = u + h * (1 + adx_gauss_node(i));           \
                const double e = adx_beta_fall(s, a, b, x, y, slope, at);   \
                m[0] = l[0] + at[0];                                        \
                m[1] = l[1] + at[1];                                        \
                inner += adx_gauss_weight(i) * exp(-e)                      \
                       * adx_beta_bell(j, k, a, b, m);                      \
            }                                                               \
            sum += h * inner;                                               \
            u += 2 * h;                                                     \
            fall = adx_beta_fall(u, a, b, x, y, slope, at);                 \
        }                                                                   \
        wide_x = adx_beta_factor(a, b, wide_x, wide_y, 0);                  \
        return wide_x == 0 ? 0 : (double)(wide_x * (long double)sum); )                                 \
    PART( double, beta_part, (int j, int k, double a, double b, double z,   \
                              int *side),                                   \
        const double up = a + b < 1e-290 ? 1e200 : 1;                       \
        const long double x = (long double)z;                               \
        const long double y = 1 - x;                                        \
        const int first = j >= k;                                           \
        double l[5] = { 0 }, value;                                         \
        a *= up;                                                            \
        b *= up;                                                            \
        adx_beta_logs(0, a, b, x, y, l);                                    \
        *side = first != (first ? a * l[0] < -b / (a + b)                   \
                                : b * l[1] < -a / (a + b));                 \
        *side = a < 1e-290 || (*side && b >= 1e-290);                       \
        value = *side ? adx_beta_tail(k, j, b, a, y, x)                     \
                      : adx_beta_tail(j, k, a, b, x, y);                    \
        if (j + k == 0 && value > 0.75) {                                   \
            *side = !*side;                                                 \
            value = *side ? adx_beta_tail(0, 0, b, a, y, x)                 \
                          : adx_beta_tail(0, 0, a, b, x, y);                \
        }                                                                   \
        return value * (j + k > 0 ? up : 1) * (j + k > 1 ? up : 1); )       \
    PART( int, beta_known, (double a, double b, double x),                  \
        const double c = a + b;                                             \
        const int at_0 = a == 0 || (c - c != 0 && a - a == 0);              \
        const int at_1 = b == 0 || (c - c != 0 && b - b == 0);              \
        if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (at_0 && at_1)       \
            || (at_0 && x == 0) || (at_1 && x == 1)                         \
            || (a - a != 0 && b - b != 0))                                  \
            return -1;                                                      \
        return at_0 || x == 1 ? 1 : at_1 || x == 0 ? 0 : 2; )               \
    PART( double, beta_value, (double a, double b, double x, int upper),    \
        const int known = adx_beta_known(a, b, x);                          \
        double value;                                                       \
        int side;                                                           \
        if (known != 2)                                                     \
            return known < 0 ? (double)NAN : (double)(known != upper);      \
        value = adx_beta_part(0, 0, a, b, x, &side);                        \
        return side == upper ? value : 1 - value; )                         \
    ROW( beta_p, (ad_real x, ad_real y, ad_real z),                         \
        return (ad_real)adx_beta_value((double)x, (double)y, (double)z, 0); ) \
    ROW( beta_q, (ad_real x, ad_real y, ad_real z),                         \
        return (ad_real)adx_beta_value((double)x, (double)y, (double)z, 1); ) \
    ROW( beta_slope, (int j, int k, ad_real x, ad_real y, ad_real z),       \
        const double a = (double)x, b = (double)y;                          \
        double value;                                                       \
        int side;                                                           \
        if (adx_beta_known(a, b, (double)z) < 0)                            \
            return (ad_real)NAN;                                            \
        if (z == 0 || z == 1 || a + b - (a + b) != 0)                       \
            return 0;                                                       \
        value = adx_beta_part(j, k, a, b, (double)z, &side);                \
        return (ad_real)(side ? -value : value); )                          \
    ROW( beta_density, (int j, int k, ad_real x, ad_real y, ad_real z),     \
        const double a = (double)x, b = (double)y;                          \
        const long double share = (long double)z;                           \
        const long double other = 1 - share;                                \
        double l[5] = { 0 }, value;                                         \
        long double factor;                                                 \
        if (adx_beta_known(a, b, (double)z) < 0)                            \
            return (ad_real)NAN;                                            \
        if (z == 1)                                                         \
            return adx_beta_density(k, j, y, x, 0);                         \
        if (a + b - (a + b) != 0 || (z == 0 && (a > 1 || b == 0)))          \
            return 0;                                                       \
        if (z == 0)                                                         \
            return j > 0 ? -(ad_real)HUGE_VAL : a < 1 ? (ad_real)HUGE_VAL   \
                 : k > 0 ? 1 : y;                                           \
        adx_beta_logs(j + k, a, b, share, other, l);                        \
        value = adx_beta_bell(j, k, a, b, l);                               \
        factor = adx_beta_factor(a, b, share, other, 1);                    \
        return factor == 0 ? 0 : (ad_real)(factor * (long double)value); )
// clang-format on

#define ADX_DEFINE(name, parameters, ...)                                   \
    ADX_NOINLINE ADX_API ad_real adx_##name parameters { __VA_ARGS__ }
#define ADX_DEFINE_PART(type, name, parameters, ...)                        \
    static type adx_##name parameters { __VA_ARGS__ }
ADX_SELDOM_BEGIN
ADX_INCOMPLETE_BETA(ADX_DEFINE, ADX_DEFINE_PART)
ADX_SELDOM_END
#undef ADX_DEFINE
#undef ADX_DEFINE_PART

/* === core/cells =============================================================
 * The rows of the operator table, and behind them the operations that only
 * partials need: the rows PARTIAL of core/operations, and a few others. So a
 * partial is made of operations, and has partials itself.
 *
 * For that the cells of the tables, which are C expressions, are parsed here,
 * by recursive descent, into terms of one operation each.
 *
 *     choice   = either [ "?" choice ":" choice ]
 *     either   = both { "||" both }
 *     both     = relation { "&&" relation }
 *     relation = sum [ ("<" | ">" | "==" ...) sum ]
 *     sum      = product { ("+" | "-") product }
 *     product  = factor { ("*" | "/") factor }
 *     factor   = "-" factor | "(" choice ")" | number | x | y | z | v
 *              | name "(" choice { "," choice } ")"
 *
 *   needs   core/config core/types core/operations core/api
 *   offers  ADX_CHAIN ADX_DERIVED ADX_OP_* ADX_OP_COUNT adx_attributes
 *           ADX_EVERY adx_compute adx_partial_at adx_row_of ADX_TERM_NUMBER
 *           ADX_TERM_VALUE ADX_TERM_FIRST ADX_TERMS adx_term adx_formula
 *           adx_is_letter adx_is_digit adx_operation_named adx_read_decimal
 *           adx_parse_partial adx_moving_terms adx_cell_tangent
 * ========================================================================== */

/* --- operations -------------------------------------------------------------
 * Rows for the chain rule, and of what cells have besides: x || y, x && y. A
 * ratio is the tangent of a quotient, where a zero absorbs as in chain. At
 * x = y = 0 its partial by y is NaN; only ad_fn_taylor makes ratios.         */

// clang-format off
#define ADX_CHAIN(ROW)                                                                                     \
    ROW( chain,      2, adx_absorb(x, y),       y,    x,    0,    ADX_COST_SHORT | ADX_COMMUTES )
#define ADX_OTHERS(ROW)                                                                                    \
    ROW( or,         2, x != 0 || y != 0,       0,    0,    0,    ADX_COST_SHORT )                         \
    ROW( and,        2, x != 0 && y != 0,       0,    0,    0,    ADX_COST_SHORT )                         \
    ROW( ratio,      2, x == 0 ? 0 : x / y,     1 / y, -(v / y), 0, ADX_COST_SHORT )
// clang-format on
#define ADX_NO_ROW(...)
#define ADX_PARTIALS(ROW) ADX_HELPERS(ADX_NO_ROW, ROW)
// The columns of the two differ, so a ROW may use the names only.
#define ADX_DERIVED(ROW)  ADX_OTHERS(ROW) ADX_PARTIALS(ROW)

#define ADX_ENUM(name, ...) ADX_OP_##name,
enum {
    ADX_OP_BEFORE = ADREV_OP_COUNT - 1,
    ADX_CHAIN(ADX_ENUM)
    ADX_DERIVED(ADX_ENUM)
    ADX_OP_COUNT
};
#undef ADX_ENUM

// What is true of each operation: ADX_COST_SHORT and what follows it.
#define ADX_LAST_OF_OTHER(name, n, f, fx, fy, fz, how) how,
#define ADX_THIRD_OF_PARTIAL(name, n, how, ...) how,
static const unsigned short adx_attributes[ADX_OP_COUNT] ADX_UNUSED = {
    ADX_ATTRIBUTES
    ADX_CHAIN(ADX_LAST_OF_OTHER) ADX_OTHERS(ADX_LAST_OF_OTHER)
    ADX_PARTIALS(ADX_THIRD_OF_PARTIAL)
};
#undef ADX_LAST_OF_OTHER
#undef ADX_THIRD_OF_PARTIAL

// adx_f_name(x, y, z): the value of an operation, whatever its arity.
#define ADX_DEFINE(name, n, f, ...)                                         \
    ADX_INLINE ad_real adx_f_##name(ad_real x, ad_real y, ad_real z)        \
        { (void)x; (void)y; (void)z; return f; }
#define ADX_ARGUMENTS_1 (x)
#define ADX_ARGUMENTS_2 (x, y)
#define ADX_ARGUMENTS_3 (x, y, z)
#define ADX_DEFINE_PARTIAL(name, n, ...)                                    \
    ADX_DEFINE(name, n, adx_##name ADX_ARGUMENTS_##n, )
ADX_CHAIN(ADX_DEFINE)
ADX_OTHERS(ADX_DEFINE)
ADX_PARTIALS(ADX_DEFINE_PARTIAL)
#undef ADX_DEFINE
#undef ADX_DEFINE_PARTIAL

ADX_INLINE ad_real adx_f_detach(ad_real x) { return x; }

// ADX_DO(code, value), of x, y and z, for every operation of one result but
// chain: whether a zero absorbs there is for the place of use to say. ADX_DO is
// a name that each place defines, and not an argument, because ADREV_OPS gives
// its visitor the columns of a row and nothing else: ADX_EVERY_ROW cannot be
// told whom to pass them on to.
#define ADX_EVERY_STEP(name, ...) ADX_DO(ADREV_OP_##name, adx_f_##name(x))
#define ADX_EVERY_ROW(name, ...)  ADX_DO(ADREV_OP_##name, adx_f_##name(x, y, z))
#define ADX_EVERY_DERIVED(name, ...)                                        \
    ADX_DO(ADX_OP_##name, adx_f_##name(x, y, z))
#define ADX_EVERY_COMPARISON(name, operator)                                \
    ADX_DO(ADREV_OP_##name, x operator y)
#define ADX_EVERY                                                           \
    ADREV_OPS(ADX_EVERY_ROW) ADREV_STEPS(ADX_EVERY_STEP)                    \
    ADREV_COMPARISONS(ADX_EVERY_COMPARISON) ADX_EVERY_STEP(detach, )        \
    ADX_DERIVED(ADX_EVERY_DERIVED)

// The value of an operation, for use outside of loops.
ADX_APART ad_real adx_compute(uint32_t op, ad_real x, ad_real y, ad_real z)
{
    switch (op) {
#define ADX_DO(code, value) case code: return (ad_real)(value);
    ADX_EVERY
#undef ADX_DO
    case ADX_OP_chain: return adx_f_chain(x, y, z);
    default: return 0;
    }
}

#define ADX_CASE(code, fx, fy, fz)                                          \
    case code: return (ad_real)(i == 0 ? (fx) : i == 1 ? (fy) : (fz));
#define ADX_CASE_OF_ROW(name, ...)                                          \
    ADX_CASE(ADREV_OP_##name, adx_fx_##name(x, y, z, v),                    \
             adx_fy_##name(x, y, z, v), adx_fz_##name(x, y, z, v))
#define ADX_CASE_OF_OTHER(name, n, f, fx, fy, fz, ...)                      \
    ADX_CASE(ADX_OP_##name, fx, fy, fz)
#define ADX_CASE_OF_PARTIAL(name, n, how, fx, fy, fz, ...)                  \
    ADX_CASE(ADX_OP_##name, fx, fy, fz)

// The partial of an operation, whose value is v, with respect to argument i.
ADX_APART ad_real adx_partial_at(uint32_t op, uint32_t i, ad_real x, ad_real y,
                                 ad_real z, ad_real v)
{
    switch (op) {
    ADREV_OPS(ADX_CASE_OF_ROW)
    ADX_CHAIN(ADX_CASE_OF_OTHER)
    ADX_OTHERS(ADX_CASE_OF_OTHER)
    ADX_PARTIALS(ADX_CASE_OF_PARTIAL)
    default: return 0;
    }
}
#undef ADX_CASE
#undef ADX_CASE_OF_ROW
#undef ADX_CASE_OF_OTHER
#undef ADX_CASE_OF_PARTIAL

#define ADX_CALL_TEXT_1 "(x)"
#define ADX_CALL_TEXT_2 "(x, y)"
#define ADX_CALL_TEXT_3 "(x, y, z)"

// Name, arity, value and partials of an operation, as text.
static ADX_UNUSED const ad_op_info *adx_row_of(uint32_t op)
{
#define ADX_INFO(name, n, f, fx, fy, fz, ...)                               \
    { #name, n, #f, { #fx, #fy, #fz }, { 0, 0, 0, 0, 0, 0 } },
#define ADX_INFO_PARTIAL(name, n, how, fx, fy, fz, ...)                     \
    { #name, n, "adx_" #name ADX_CALL_TEXT_##n, { #fx, #fy, #fz },          \
      { 0, 0, 0, 0, 0, 0 } },
    static const ad_op_info derived[] = {
        ADX_CHAIN(ADX_INFO) ADX_OTHERS(ADX_INFO) ADX_PARTIALS(ADX_INFO_PARTIAL)
    };
#undef ADX_INFO
#undef ADX_INFO_PARTIAL
    return op < ADREV_OP_COUNT ? &ad_op_table()[op]
                               : &derived[op - ADREV_OP_COUNT];
}

/* --- cells ---------------------------------------------------------------- */

ADX_SELDOM_BEGIN

enum {
    ADX_TERM_NUMBER = ADX_OP_COUNT,
    ADX_TERM_VALUE = 3,         // v, behind x, y and z
    ADX_TERM_FIRST,
    ADX_TERMS = 60              // of a cell, at most: 64 bits of `moving`
};

// One operation of a cell of the operator table. Its arguments are indices: 0
// to 2 are the arguments of the operation whose partial the cell is, 3 is the
// result of that operation, and from 4 on they are the terms before this one.
typedef struct adx_term {
    uint16_t op;                // or ADX_TERM_NUMBER
    uint8_t arg[3];
    ad_real v;
} adx_term;

typedef struct adx_formula {
    const char *at;             // the rest of the text
    adx_term term[ADX_TERMS];
    uint8_t terms;
    uint8_t result;
    bool wrong;
} adx_formula;

static uint8_t adx_choice(adx_formula *f);

// Appends a term; returns its index as an argument. No cell of the tables is
// ever wrong: tests/function/function_ops.c reads all of them.
static uint8_t adx_new_term(adx_formula *f, uint32_t op, uint8_t x, uint8_t y,
                            uint8_t z, ad_real v)
{
    if (op > ADX_TERM_NUMBER || f->terms == ADX_TERMS) {
        f->wrong = true;
        return 0;
    }
    f->term[f->terms] = (adx_term){ (uint16_t)op, { x, y, z }, v };
    return (uint8_t)(ADX_TERM_FIRST + f->terms++);
}

static void adx_blank(adx_formula *f)
{
    while (*f->at == ' ')
        f->at++;
}

// Whether this text comes next, which is then passed over.
static bool adx_next_is(adx_formula *f, const char *text)
{
    adx_blank(f);
    size_t n = strlen(text);
    if (strncmp(f->at, text, n) != 0)
        return false;
    f->at += n;
    return true;
}

static bool adx_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool adx_is_digit(char c) { return c >= '0' && c <= '9'; }

// The operation that the name of a function in a cell stands for, without its
// prefix; ADX_OP_COUNT: none.
static uint32_t adx_operation_named(const char *name, size_t n)
{
    static const char *const other[][2] = {
        { "fabs", "abs" }, { "fmin", "min" }, { "fmax", "max" },
        { "absorb", "chain" }
    };
    char word[24] = "";
    memcpy(word, name, n < sizeof word ? n : sizeof word - 1);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(word, other[i][0]) == 0)
            memcpy(word, other[i][1], strlen(other[i][1]) + 1);
    uint32_t op = 0;
    while (op < ADX_OP_COUNT && strcmp(adx_row_of(op)->name, word) != 0)
        op++;
    return op;
}

// A call in a cell, behind its "(": adm_sin(...), adx_gauss(...) or ADX_K(...).
static uint8_t adx_application(adx_formula *f, const char *name, size_t n)
{
    uint8_t arg[3] = { 0 };
    size_t count = 0;
    do
        arg[count++] = adx_choice(f);
    while (count < 3 && adx_next_is(f, ","));
    adx_next_is(f, ")");
    if (strncmp(name, "ADX_K", n) == 0)
        return arg[0];
    uint32_t op = adx_operation_named(name + 4, n - 4);
    f->wrong |= op == ADX_OP_COUNT;
    return adx_new_term(f, op, arg[0], arg[1], arg[2], 0);
}

// A decimal of the tables, whatever the locale's decimal point is. It is
// correctly rounded if 19 digits decide what it is, and if the power of ten is
// at most the 22nd, which a double holds exactly.
static double adx_read_decimal(const char *at, const char **end)
{
    uint64_t digits = 0;
    int power = 0;
    bool point = false;
    for (; adx_is_digit(*at) || (*at == '.' && !point); at++)
        if (*at == '.')
            point = true;
        else if (digits < UINT64_C(1000000000000000000)) {
            digits = 10 * digits + (uint64_t)(*at - '0');
            power -= point;
        } else
            power += !point;
    if (*at == 'e') {
        bool below = *++at == '-';
        int e = 0;
        for (at += below || *at == '+'; adx_is_digit(*at); at++)
            e = e < 1000 ? 10 * e + (*at - '0') : e;
        power += below ? -e : e;
    }
    if (end != NULL)
        *end = at;
    // The digits in two parts, and what the quotient of the first leaves.
    double scale = 1;
    double high = (double)digits;
    double low = (double)(int64_t)(digits - (uint64_t)high);
    for (int i = power < 0 ? -power : power; i > 0; i--)
        scale *= 10;
    if (power >= 0)
        return high * scale + low * scale;
    double quotient = high / scale;
    return quotient + (fma(-quotient, scale, high) + low) / scale;
}

// A name without "(" is x, y, z or, whatever else it is, v.
static uint8_t adx_factor(adx_formula *f)
{
    adx_blank(f);
    if (adx_next_is(f, "-")) {
        uint8_t x = adx_factor(f);
        return adx_new_term(f, ADREV_OP_neg, x, x, x, 0);
    }
    if (adx_next_is(f, "(")) {
        uint8_t inner = adx_choice(f);
        adx_next_is(f, ")");
        return inner;
    }
    if (adx_is_digit(*f->at)) {
        ad_real v = (ad_real)adx_read_decimal(f->at, &f->at);
        return adx_new_term(f, ADX_TERM_NUMBER, 0, 0, 0, v);
    }
    const char *name = f->at;
    while (adx_is_letter(*f->at) || adx_is_digit(*f->at))
        f->at++;
    size_t n = (size_t)(f->at - name);
    if (adx_next_is(f, "("))
        return adx_application(f, name, n);
    return *name == 'x' ? 0 : *name == 'y' ? 1 : *name == 'z' ? 2 : 3;
}

// Binary operators of one level, from left to right.
typedef struct adx_operator {
    const char *text;
    uint32_t op;
} adx_operator;

typedef uint8_t adx_part_fn(adx_formula *f);

// Of two operators that begin alike, the longer one comes first in a table.
static uint8_t adx_operators(adx_formula *f, adx_part_fn *part,
                             const adx_operator *table, size_t n)
{
    uint8_t left = part(f);
    size_t i = 0;
    while (i < n)
        if (adx_next_is(f, table[i].text)) {
            left = adx_new_term(f, table[i].op, left, part(f), left, 0);
            i = 0;
        } else
            i++;
    return left;
}

#define ADX_LEVEL(name, part, ...)                                          \
    static uint8_t name(adx_formula *f)                                     \
    {                                                                       \
        static const adx_operator table[] = { __VA_ARGS__ };                \
        return adx_operators(f, part, table, sizeof table / sizeof *table); \
    }
ADX_LEVEL(adx_product_of, adx_factor, { "*", ADREV_OP_mul },
          { "/", ADREV_OP_div })
ADX_LEVEL(adx_sum_in, adx_product_of, { "+", ADREV_OP_add },
          { "-", ADREV_OP_sub })
ADX_LEVEL(adx_relation, adx_sum_in, { "<=", ADREV_OP_le },
          { ">=", ADREV_OP_ge }, { "==", ADREV_OP_eq }, { "!=", ADREV_OP_ne },
          { "<", ADREV_OP_lt }, { ">", ADREV_OP_gt })
ADX_LEVEL(adx_all_of, adx_relation, { "&&", ADX_OP_and })
ADX_LEVEL(adx_any_of, adx_all_of, { "||", ADX_OP_or })
#undef ADX_LEVEL

static uint8_t adx_choice(adx_formula *f)
{
    uint8_t condition = adx_any_of(f);
    if (!adx_next_is(f, "?"))
        return condition;
    uint8_t yes = adx_choice(f);
    adx_next_is(f, ":");
    uint8_t no = adx_choice(f);
    return adx_new_term(f, ADREV_OP_select, condition, yes, no, 0);
}

// Reads the cell with partial i of an operation.
static ADX_UNUSED void adx_parse_partial(uint32_t op, uint32_t i,
                                         adx_formula *f)
{
    f->at = adx_row_of(op)->partial[i];
    f->terms = 0;
    f->wrong = false;
    f->result = adx_choice(f);
}

/* --- derivatives of cells ------------------------------------------------ */

// Which of x, y, z, v and the terms move with some of the first four, as bits.
static ADX_UNUSED uint64_t adx_moving_terms(const adx_formula *f,
                                            uint64_t moving)
{
    for (uint8_t k = 0; k < f->terms; k++) {
        const adx_term *term = &f->term[k];
        bool number = term->op == ADX_TERM_NUMBER;
        int arity = number ? 0 : adx_row_of(term->op)->arity;
        for (int i = 0; i < arity; i++)
            if ((moving >> term->arg[i] & 1) != 0
                && strcmp(adx_row_of(term->op)->partial[i], "0") != 0)
                moving |= (uint64_t)1 << (ADX_TERM_FIRST + k);
    }
    return moving;
}

ADX_SELDOM_END

// The tangent of a cell, for values and tangents of x, y, z and v. Those that
// do not move (adx_moving_terms) have tangents that nobody reads.
static ADX_UNUSED ad_real adx_cell_tangent(const adx_formula *f,
                                           uint64_t moving,
                                           const ad_real value[ADX_TERM_FIRST],
                                           const ad_real dot[ADX_TERM_FIRST])
{
    ad_real v[ADX_TERM_FIRST + ADX_TERMS];
    ad_real d[ADX_TERM_FIRST + ADX_TERMS];
    memcpy(v, value, ADX_TERM_FIRST * sizeof *v);
    memcpy(d, dot, ADX_TERM_FIRST * sizeof *d);
    for (uint8_t k = 0; k < f->terms; k++) {
        const adx_term *term = &f->term[k];
        const uint8_t *arg = term->arg;
        ad_real x = v[arg[0]], y = v[arg[1]], z = v[arg[2]];
        ad_real r = term->op == ADX_TERM_NUMBER
                  ? term->v : adx_compute(term->op, x, y, z);
        v[ADX_TERM_FIRST + k] = r;
        d[ADX_TERM_FIRST + k] = 0;
        bool still = (moving >> (ADX_TERM_FIRST + k) & 1) == 0;
        int arity = still ? 0 : adx_row_of(term->op)->arity;
        for (int i = 0; i < arity; i++)
            if ((moving >> arg[i] & 1) != 0)
                d[ADX_TERM_FIRST + k] += adx_absorb(
                    adx_partial_at(term->op, (uint32_t)i, x, y, z, r),
                    d[arg[i]]);
    }
    return d[f->result];
}

/* === core/exported ==========================================================
 * The operator table as data, and operators as functions of an operation's
 * code, for other languages. What is usual is written here, as
 * number/expression writes it; the rest is left to tape/apart.
 *
 *   needs   core/config core/types core/operations core/api number/recording
 *           tape/layout tape/hooks tape/apart core/cells
 * ========================================================================== */

/* --- the table ------------------------------------------------------------ */

#define ADX_INFO(name, n, f, fx, fy, fz, x0, x1, y0, y1, z0, z1, how)       \
    { #name, n, #f, { #fx, #fy, #fz }, { x0, x1, y0, y1, z0, z1 } },
#define ADX_INFO_STEP(name, f, x0, x1, how)                                 \
    { #name, 1, #f, { "0", "0", "0" }, { x0, x1, 0, 0, 0, 0 } },
#define ADX_INFO_COMPARISON(name, operator)                                 \
    { #name, 2, "x " #operator " y", { "0", "0", "0" }, { 0 } },
ADX_API const ad_op_info *ad_op_table(void)
{
    static const ad_op_info table[] = {
        ADREV_OPS(ADX_INFO)
        ADREV_STEPS(ADX_INFO_STEP)
        ADREV_COMPARISONS(ADX_INFO_COMPARISON)
        { "detach", 1, "x", { "0", "0", "0" }, { -3, 3, 0, 0, 0, 0 } },
    };
    return table;
}
#undef ADX_INFO
#undef ADX_INFO_STEP
#undef ADX_INFO_COMPARISON

ADX_API const char *ad_version(void) { return ADREV_VERSION; }

/* --- operators ------------------------------------------------------------ */

#define ADX_EXPORTED_HOW (ADX_WATCHED | (ADREV_DEBUG ? ADX_NOTED : 0u))

static ad_rev adx_refuse_code(const char *why)
{
    if (adx_now.tape != NULL)
        adx_fail_because(adx_now.tape, ADREV_ESHAPE, why);
    return adx_passive((ad_real)NAN);
}

// A constant is a plain number here: it has no operand.
static adx_number adx_exported(ad_rev x)
{
    return (adx_number){ .v = x.v, .id = adx_word(&x),
                         .kind = x.job == 0 ? 0 : ADX_RECORDED };
}

// The id of a value; 0 of every constant.
ADX_INLINE uint64_t adx_variable(ad_rev x)
{
    const uint64_t id = adx_word(&x);
    return id >> 32 == 0 ? 0 : id;
}

// What is left to tape/apart. All arguments fit into registers, so operators
// need no memory on the stack.
#define ADX_EXPORTED_SUM 0x80000000u    // beside a code: the first partial is 1
ADX_NOINLINE static ad_rev adx_code_apart(ad_real x, ad_real y, ad_real z,
                                          unsigned op, uint64_t i, uint64_t j,
                                          uint64_t k, ad_real v, ad_real fx,
                                          ad_real fy, ad_real fz)
{
    const adx_number a[3] = { adx_exported(adx_numbered(x, i)),
                              adx_exported(adx_numbered(y, j)),
                              adx_exported(adx_numbered(z, k)) };
    const ad_real f[3] = { fx, fy, fz };
    const unsigned how = ADX_EXPORTED_HOW | (op & ADX_EXPORTED_SUM ? ADX_SUM
                                                                   : 0u);
    op &= ~ADX_EXPORTED_SUM;
    adx_number e = adx_call_any(how, (ad_opcode)op, v, ad_op_arity(op), a, f);
    return e.id == 0 ? adx_passive(v) : adx_numbered(v, e.id);
}

// Whether n arguments can be written as they are, if they are of this job:
// what `other` says in its upper half. While a hook is set there is no room.
#define ADX_WRITABLE(n, other)                                              \
    (((other) >> 32 == 0) & !ADREV_DEBUG                                    \
     & adx_room(sizeof(uint16_t) + (n) * sizeof(adx_operand)))
#if ADREV_COUNT
#define ADX_COUNT_CODE(op, active) adx_count_op((ad_opcode)(op), active)
#else
#define ADX_COUNT_CODE(op, active) ((void)0)
#endif

ADX_INLINE ad_rev adx_code_1(unsigned op, ad_real x, uint64_t i, ad_real v,
                             ad_real fx)
{
    const uint64_t here = adx_compound(adx_now.job, 0);
    if (ADX_LIKELY(ADX_WRITABLE(1, i ^ here))) {
        ADX_COUNT_CODE(op, 1);
        return adx_commit(v, adx_put(adx_now.op, fx, i), 1);
    }
    return adx_code_apart(x, x, x, op, i, i, i, v, fx, 0, 0);
}

// Two variables, or one and a constant.
ADX_INLINE ad_rev adx_code_2(unsigned op, ad_real x, uint64_t i, ad_real y,
                             uint64_t j, ad_real v, ad_real fx, ad_real fy,
                             bool sum)
{
    const uint64_t here = adx_compound(adx_now.job, 0);
    adx_operand *at = adx_now.op;
    if (ADX_LIKELY(ADX_WRITABLE(2, (i ^ here) | (j ^ here)) & (i != j))) {
        ADX_COUNT_CODE(op, 2);
        ADX_FETCH((uintptr_t)at + ADX_FAR);
        if (sum && (uint32_t)i == adx_now.seq)
            return adx_commit(v, adx_put(at, fy, j), ADX_SUM | 1u);
        return adx_commit(v, adx_put(adx_put(at, fx, i), fy, j), 2);
    }
    if (((i == 0) ^ (j == 0)) & ADX_WRITABLE(1, (i | j) ^ here)) {
        ADX_COUNT_CODE(op, 1);
        return adx_commit(v, adx_put(at, i == 0 ? fy : fx, i | j), 1);
    }
    return adx_code_apart(x, y, y, op | (sum ? ADX_EXPORTED_SUM : 0u), i, j, j,
                          v, fx, fy, 0);
}

ADX_INLINE ad_rev adx_code_3(unsigned op, ad_real x, uint64_t i, ad_real y,
                             uint64_t j, ad_real z, uint64_t k, ad_real v,
                             ad_real fx, ad_real fy, ad_real fz)
{
    const uint64_t here = adx_compound(adx_now.job, 0);
    if (ADX_LIKELY(ADX_WRITABLE(3, (i ^ here) | (j ^ here) | (k ^ here)))) {
        adx_operand *at = adx_put(adx_put(adx_now.op, fx, i), fy, j);
        ADX_COUNT_CODE(op, 3);
        return adx_commit(v, adx_put(at, fz, k), 3);
    }
    return adx_code_apart(x, y, z, op, i, j, k, v, fx, fy, fz);
}

// A step function makes a constant, and ad_detach one that hooks know.
static ad_rev adx_code_step(unsigned op, ad_rev x)
{
    const adx_number a = adx_exported(x);
    switch (op) {
#define ADX_DEFINE(name, ...)                                               \
    case ADREV_OP_##name:                                                   \
        return adx_passive(adx_call_##name(ADX_EXPORTED_HOW, a).v);
    ADREV_STEPS(ADX_DEFINE)
#undef ADX_DEFINE
    case ADREV_OP_detach: {
        const adx_number y = adx_call_detach(ADX_EXPORTED_HOW, a);
        return adx_numbered(y.v, y.id);
    }
    default:
        return adx_refuse_code("ad_op1: no operation of one argument has "
                               "this code");
    }
}

// Comparisons by their code. A hook is told of them.
static ad_rev adx_code_test(unsigned op, ad_rev x, ad_rev y)
{
    const adx_number a = adx_exported(x), b = adx_exported(y);
    switch (op) {
#define ADX_DEFINE(name, ...)                                               \
    case ADREV_OP_##name:                                                   \
        return adx_passive(adx_call_##name(ADX_EXPORTED_HOW, a, b));
    ADREV_COMPARISONS(ADX_DEFINE)
#undef ADX_DEFINE
    default:
        return adx_refuse_code("ad_op2: no operation of two arguments has "
                               "this code");
    }
}

// The side that is taken. Only a hook is told of the condition.
static ad_rev adx_code_choice(ad_rev c, ad_rev x, ad_rev y)
{
    const bool holds = c.v != 0;
    const ad_rev taken = holds ? x : y;
    if (ADX_TRACED)
        return adx_code_apart(c.v, x.v, y.v, ADREV_OP_select, adx_word(&c),
                              adx_word(&x), adx_word(&y), taken.v, 0, holds,
                              !holds);
    return taken.job == 0 ? taken
         : adx_numbered(taken.v, adx_known_id(adx_word(&taken)));
}

static bool adx_is_order(ad_real k, uint64_t id)
{
    return id == 0 && adm_trunc(k) == k && k - k == 0;
}

// A function for each row, with the arguments in the registers in which ad_op1
// and its kin have them: a call goes on by one jump. (One function with all
// rows in a switch takes twice as long.)
#define ADX_DEFINE_1(name, fx)                                              \
    static ad_rev adx_code_of_##name(unsigned op, ad_real x, uint64_t i)    \
    {                                                                       \
        const ad_real v = adx_f_##name(x, 0, 0);                            \
        return adx_code_1(op, x, i, v,                                      \
                          i == 0 ? 0 : adx_fx_##name(x, 0, 0, v));          \
    }
#define ADX_DEFINE_2(name, fx)                                              \
    static ad_rev adx_code_of_##name(unsigned op, ad_real x, uint64_t i,    \
                                     ad_real y, uint64_t j)                 \
    {                                                                       \
        const ad_real v = adx_f_##name(x, y, 0);                            \
        const unsigned how = adx_attributes[ADREV_OP_##name];               \
        if (((how & ADX_WHOLE_X) != 0 && !adx_is_order(x, i))               \
            || ((how & ADX_WHOLE_Y) != 0 && !adx_is_order(y, j)))           \
            return adx_refuse_code("ad_op2: an exponent or order is not "   \
                                   "a whole constant");                     \
        return adx_code_2(op, x, i, y, j, v,                                \
                          i == 0 ? 0 : adx_fx_##name(x, y, 0, v),           \
                          j == 0 ? 0 : adx_fy_##name(x, y, 0, v),           \
                          ADX_IS_ONE(fx));                                  \
    }
#define ADX_DEFINE_3(name, fx)                                              \
    static ad_rev adx_code_of_##name(unsigned op, ad_real x, uint64_t i,    \
                                     ad_real y, uint64_t j, ad_real z,      \
                                     uint64_t k)                            \
    {                                                                       \
        const ad_real v = adx_f_##name(x, y, z);                            \
        return adx_code_3(op, x, i, y, j, z, k, v,                          \
                          i == 0 ? 0 : adx_fx_##name(x, y, z, v),           \
                          j == 0 ? 0 : adx_fy_##name(x, y, z, v),           \
                          k == 0 ? 0 : adx_fz_##name(x, y, z, v));          \
    }
#define ADX_DEFINE(name, n, f, fx, ...) ADX_DEFINE_##n(name, fx)
ADREV_OPS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_DEFINE_1
#undef ADX_DEFINE_2
#undef ADX_DEFINE_3
#undef ADX_WRITABLE
#undef ADX_COUNT_CODE
#undef ADX_EXPORTED_HOW

// A table for each number of arguments; ADX_ENTER_12 leaves a row of two out of
// the table for one.
#define ADX_ENTER(name)    [ADREV_OP_##name] = adx_code_of_##name,
#define ADX_ENTER_11(name) ADX_ENTER(name)
#define ADX_ENTER_12(name)
#define ADX_ENTER_13(name)
#define ADX_ENTER_21(name)
#define ADX_ENTER_22(name) ADX_ENTER(name)
#define ADX_ENTER_23(name)
#define ADX_ENTER_31(name)
#define ADX_ENTER_32(name)
#define ADX_ENTER_33(name) ADX_ENTER(name)

ADX_API ad_rev (ad_op1)(unsigned op, ad_rev x)
{
#define ADX_DEFINE(name, n, ...) ADX_ENTER_1##n(name)
    static ad_rev (*const row[ADREV_OP_COUNT])(unsigned, ad_real, uint64_t) = {
        ADREV_OPS(ADX_DEFINE)
    };
#undef ADX_DEFINE
    if (op >= ADREV_OP_COUNT || row[op] == NULL)
        return adx_code_step(op, x);
    return row[op](op, x.v, adx_variable(x));
}

ADX_API ad_rev (ad_op2)(unsigned op, ad_rev x, ad_rev y)
{
#define ADX_DEFINE(name, n, ...) ADX_ENTER_2##n(name)
    static ad_rev (*const row[ADREV_OP_COUNT])(unsigned, ad_real, uint64_t,
                                               ad_real, uint64_t) = {
        ADREV_OPS(ADX_DEFINE)
    };
#undef ADX_DEFINE
    if (op >= ADREV_OP_COUNT || row[op] == NULL)
        return adx_code_test(op, x, y);
    return row[op](op, x.v, adx_variable(x), y.v, adx_variable(y));
}

ADX_API ad_rev (ad_op3)(unsigned op, ad_rev x, ad_rev y, ad_rev z)
{
#define ADX_DEFINE(name, n, ...) ADX_ENTER_3##n(name)
    static ad_rev (*const row[ADREV_OP_COUNT])(unsigned, ad_real, uint64_t,
                                               ad_real, uint64_t, ad_real,
                                               uint64_t) = {
        ADREV_OPS(ADX_DEFINE)
    };
#undef ADX_DEFINE
    if (op >= ADREV_OP_COUNT || row[op] == NULL)
        return adx_refuse_code("ad_op3: no operation of three arguments has "
                               "this code");
    if (op == ADREV_OP_select)
        return adx_code_choice(x, y, z);
    return row[op](op, x.v, adx_variable(x), y.v, adx_variable(y), z.v,
                   adx_variable(z));
}
#undef ADX_ENTER
#undef ADX_ENTER_11
#undef ADX_ENTER_12
#undef ADX_ENTER_13
#undef ADX_ENTER_21
#undef ADX_ENTER_22
#undef ADX_ENTER_23
#undef ADX_ENTER_31
#undef ADX_ENTER_32
#undef ADX_ENTER_33

ADX_API const char *ad_op_name(unsigned op)
{
    return op < ADREV_OP_COUNT ? ad_op_table()[op].name : NULL;
}

ADX_API unsigned ad_op_arity(unsigned op)
{
    return op < ADREV_OP_COUNT ? (unsigned)ad_op_table()[op].arity : 0;
}

ADX_API unsigned ad_op_find(const char *name)
{
    static const char *const other[][2] = {
        { "fabs", "abs" }, { "fmin", "min" }, { "fmax", "max" }
    };
    unsigned op = 0;
    if (name == NULL)
        return ADREV_OP_COUNT;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(name, other[i][0]) == 0)
            name = other[i][1];
    while (op < ADREV_OP_COUNT && strcmp(ad_op_table()[op].name, name) != 0)
        op++;
    return op;
}
#if ADREV_FIXED < 2
/* === array/operands =========================================================
 * Statements that are not a list of partials. Most of them are linear
 * (array/linear): spans of operands with their partials, and either one sum or
 * n results. What a statement saves lies behind its struct, in the same entry
 * of the tape. Loops run over W directions; with one direction and evenly
 * spaced ids they are vector loops.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *           sweep/queries
 *   offers  adx_view ADX_UNIT adx_ids adx_first_value adx_matrix adx_vector
 *           adx_constants adx_offset adx_element adx_view_size ADX_BASE
 *           adx_missing adx_missing_matrix adx_missing_s adx_no_result
 *           adx_pack_row adx_pack_one adx_pack_view adx_id_here adx_is_list
 *           adx_spacing adx_spacing_of adx_ids_of_corners adx_set_ids
 *           adx_classify adx_pack_even_at adx_pack_even adx_is_constant
 *           adx_write_ids adx_write_list adx_write_row adx_id adx_id_of
 *           adx_adjacent adx_recording adx_public_view adx_array_operation
 *           adx_tell_array adx_add_extended adx_set_result adx_name_written
 *           adx_put_results
 * ========================================================================== */

/* --- operands ------------------------------------------------------------ */

// What an array statement reads: a matrix of recorded numbers or of constants,
// with strides. A vector is one row.
typedef struct adx_view {
    const ad_rev *x;            // NULL: constants
    const ad_real *v;           // the first value
    size_t rows;
    size_t cols;
    ptrdiff_t rs;               // from row to row, in elements
    ptrdiff_t cs;
    ptrdiff_t unit;             // of an element, in ad_real
} adx_view;

#define ADX_UNIT ((ptrdiff_t)(sizeof(ad_rev) / sizeof(ad_real)))
ADX_STATIC_ASSERT(sizeof(ad_rev) % sizeof(ad_real) == 0
                  && offsetof(ad_rev, v) == 0,
                  "the values of an array of ad_rev are a strided array");

// The ids of a view's elements on this tape. Ids that are evenly spaced in both
// directions, as those of an array of inputs are, need no memory: a base and
// two strides say them. Others are a list. The arithmetic is modulo 2^32, so a
// stride may stand for a negative one.
typedef struct adx_ids {
    uint32_t *list;             // row by row; NULL: base + i*row + j*col
    uint32_t base;              // 0 and no list: constants
    uint32_t row;               // modulo 2^32
    uint32_t col;
    bool listed;
} adx_ids;

// x may be NULL.
ADX_INLINE const ad_real *adx_first_value(const ad_rev *x)
{
    return (const ad_real *)(const void *)x;
}

// The stride of a single row or column does not matter, however large it is.
static adx_view adx_matrix(size_t rows, size_t cols, const ad_rev x[],
                           ptrdiff_t rs, ptrdiff_t cs)
{
    return (adx_view){ x, adx_first_value(x), rows, cols, rows > 1 ? rs : 0,
                       cols > 1 ? cs : 0, ADX_UNIT };
}

static adx_view adx_vector(size_t n, const ad_rev x[], ptrdiff_t inc)
{
    return adx_matrix(1, n, x, 0, inc);
}

static adx_view adx_constants(size_t n, const ad_real c[], ptrdiff_t inc)
{
    return (adx_view){ NULL, c, 1, n, 0, n > 1 ? inc : 0, 1 };
}

static inline ptrdiff_t adx_offset(const adx_view *a, size_t i, size_t j)
{
    return (ptrdiff_t)i * a->rs + (ptrdiff_t)j * a->cs;
}

static inline ad_real adx_element(const adx_view *a, size_t i, size_t j)
{
    return a->v[adx_offset(a, i, j) * a->unit];
}

static size_t adx_view_size(const adx_view *a) { return a->rows * a->cols; }

// A column as a row, because the loops run along rows. Other views stay as they
// are.
static inline adx_view adx_lying(const adx_view *a)
{
    adx_view row = *a;
    if (a->cols == 1) {
        row.rows = 1;
        row.cols = a->rows;
        row.cs = a->rs;
    }
    return row;
}

// The part that a statement of this kind shares with all others; NULL if the
// statement was not recorded.
#define ADX_BASE(s) ((s) == NULL ? NULL : &(s)->e)

// Whether an array of n elements is impossible, or needed and not given. If so,
// the tape fails.
static bool adx_missing(size_t n, const void *x)
{
    if (!adx_no_array(n, x))
        return false;
    adx_failed(ADREV_ESHAPE);
    return true;
}

// The same of a matrix, and of a vector, with strides. If all lengths are
// short, their products and sums are possible.
#define ADX_SHORT_BITS (4 * sizeof(size_t) - 4)

ADX_INLINE bool adx_missing_matrix(size_t rows, size_t cols, const void *x,
                                   ptrdiff_t rs, ptrdiff_t cs)
{
    const size_t any = rows | cols | (size_t)rs | (size_t)cs;
    if (x != NULL && any >> ADX_SHORT_BITS == 0)
        return false;
    return adx_missing(adx_spread_of(rows, rs, cols, cs), x);
}

ADX_INLINE bool adx_missing_s(size_t n, const void *x, ptrdiff_t inc)
{
    return adx_missing_matrix(1, n, x, 0, inc);
}

static ad_rev adx_no_result(void) { return adx_passive(ADX_K(NAN)); }

#ifdef ADX_LANES
typedef ad_real adx_duo __attribute__((vector_size(2 * sizeof(ad_real)),
                                       aligned(sizeof(ad_real)), may_alias));
typedef uint64_t adx_duo_ids __attribute__((vector_size(16)));
#endif

// Copies one row of values into consecutive places. Returns the sum of all v*0,
// which is NaN if a value is not finite and 0 otherwise (with ADREV_FIXED it is
// not asked for: adx_chain looks at products). The loop takes two
// values at a time, because gcc -O2 without AVX would put four together in
// memory (ten times slower), and it keeps two sums, so that an addition need
// not wait for the one before.
ADX_INLINE ad_real adx_pack_row(size_t n, const ad_real v[], ptrdiff_t stride,
                                ad_real to[])
{
    ad_real fault = 0;
    size_t j = 0;
#ifdef ADX_LANES
    adx_duo fault_a = {0};
    adx_duo fault_b = {0};
    for (; j + 4 <= n; j += 4, v += 4 * stride) {
        adx_duo a = { v[0], v[stride] };
        adx_duo b = { v[2 * stride], v[3 * stride] };
        *(adx_duo *)&to[j] = a;
        *(adx_duo *)&to[j + 2] = b;
        fault_a += a * 0;
        fault_b += b * 0;
    }
    fault_a += fault_b;
    fault = fault_a[0] + fault_a[1];
#endif
    for (; j < n; j++, v += stride) {
        to[j] = *v;
        if (!ADREV_FIXED)
            fault += *v * 0;
    }
    return fault;
}

// Row i. A stride that is known to the compiler makes vector loops. (bench:
// dot-1e3, arrays, 0.83.)
static ad_real adx_pack_one(const adx_view *a, size_t i, ad_real to[])
{
    const ptrdiff_t stride = a->cs * a->unit;
    const ad_real *v = a->v + (ptrdiff_t)i * a->rs * a->unit;
    return ADREV_FIXED ? adx_pack_row(a->cols, v, stride, to)
         : stride == ADX_UNIT ? adx_pack_row(a->cols, v, ADX_UNIT, to)
         : stride == 1 ? adx_pack_row(a->cols, v, 1, to)
         : adx_pack_row(a->cols, v, stride, to);
}

// The whole view, row by row. The result is that of adx_pack_row.
static ad_real adx_pack_view(const adx_view *a, ad_real to[])
{
    ad_real fault = 0;
    if (ADREV_FIXED && a->cols == 1)
        return adx_pack_row(a->rows, a->v, a->rs * a->unit, to);
    if (ADREV_FIXED) {
        for (size_t i = 0; i < a->rows; i++)
            adx_pack_one(a, i, to + i * a->cols);
        return 0;
    }
    const adx_view b = adx_lying(a);
    for (size_t i = 0; i < b.rows; i++)
        fault += adx_pack_one(&b, i, to + i * b.cols);
    return fault;
}

// The id of x on the current tape; 0: a constant. Only a value of another job
// has to be looked up.
static inline uint32_t adx_id_here(ad_rev x)
{
    return x.job == (uint32_t)adx_now.job && x.job != 0 ? x.seq
                                                        : adx_resolve(x);
}

#if ADREV_FIXED
// How the ids of a row are stored: by a base and, in the upper half of a word,
// a stride; or as a list; or, if all numbers are constants, not at all: 0. Of
// the latter two the base is 0.
#define ADX_LISTED ((uint64_t)1 << 32)

ADX_INLINE bool adx_is_list(uint64_t spacing)
{
    return (uint32_t)spacing == 0 && spacing != 0;
}

ADX_APART uint64_t adx_look_up_all(size_t n, const ad_rev *x, ptrdiff_t inc)
{
    uint32_t any = 0;
    for (; n > 0; n--, x += inc)
        any |= adx_id_here(*x);
    return any == 0 ? 0 : ADX_LISTED;
}

// Finds that out for n > 0 numbers: base and stride are read off the first two.
// (The stride of a single number does not matter, however large it is; and a
// number with stride 0 is a single one.)
// Numbers of an older job, from before a rewind, are looked up one by one: of
// one job some are still there and some are not.
ADX_APART uint64_t adx_spacing(size_t n, const ad_rev *x, ptrdiff_t inc)
{
    const ad_rev *at = x;
    const uint32_t job = x->job;
    const uint32_t base = x->seq;
    inc = n > 1 ? inc : 0;
    n = inc != 0 ? n : 1;
    const uint32_t stride = x[inc].seq - base;
    size_t left = n;
    uint32_t seq = base;
    if (job != (uint32_t)adx_now.job && (base | job) != 0)
        return adx_look_up_all(n, x, inc);
    do {
        const uint32_t others = at->job;
        const uint32_t id = at->seq;
        at += inc;
        ADX_OPAQUE(at);         // or gcc reads one number after the other
        if (others != job || id != seq)
            return adx_look_up_all(n, x, inc);
        seq += stride;
    } while (--left > 0);
    return adx_compound(stride, base);
}

// The same of a matrix. One column, or rows that follow one another, are a row.
// Otherwise all rows have the stride of the first one, and begin at a stride.
// A list is looked for by itself: its code may be the one that a row should
// have, if that row should begin with id 0.
static uint64_t adx_spacing_of(const adx_view *a, uint32_t *row)
{
    const ad_rev *x = a->x;
    const size_t n = a->cols;
    if (a->rows == 1 || n == 1 || a->rs == (ptrdiff_t)n * a->cs) {
        const uint64_t all = adx_spacing(a->rows * n, x,
                                         n == 1 ? a->rs : a->cs);
        *row = (uint32_t)(all >> 32) * (uint32_t)n;
        return all;
    }
    const uint64_t first = adx_spacing(n, x, a->cs);
    uint64_t other = 0;
    const uint32_t stride = (uint32_t)(first >> 32);
    uint32_t seq = (uint32_t)first;
    *row = first == 0 ? 0 : x[a->rs].seq - seq;
    for (size_t i = 1; i < a->rows; i++) {  // all of them are looked up
        x += a->rs;
        seq += *row;
        const uint64_t here = adx_spacing(n, x, a->cs);
        other |= here ^ adx_compound(stride, seq);
        other |= (uint64_t)adx_is_list(here);
    }
    return other == 0 ? first : ADX_LISTED;
}
#else
// Whether the compound ids of a row are id, id + stride ... The loop has no
// branch: it collects every difference in `other` and looks once at the end.
static bool adx_even_row(size_t n, const ad_rev x[], ptrdiff_t inc,
                         uint64_t id, uint64_t stride)
{
    if (inc == 1)
        return adx_in_strides(n, x, id, stride);
    if (inc == 0)
        n = n > 0;              // the same number again and again
    uint64_t other = 0;
    for (size_t j = 0; j < n; j++, id += stride, x += inc)
        other |= adx_word(x) ^ id;
    return other == 0;
}

// The compound id that row i begins with, if the ids are evenly spaced.
static inline uint64_t adx_even_id(const adx_view *a, const adx_ids *ids,
                                   size_t i)
{
    return adx_compound(a->x->job, ids->base + (uint32_t)i * ids->row);
}

static bool adx_even_at(const adx_view *a, const adx_ids *ids, size_t i)
{
    return adx_even_row(a->cols, a->x + (ptrdiff_t)i * a->rs, a->cs,
                        adx_even_id(a, ids, i), (uint64_t)(int32_t)ids->col);
}

// The spacing that the ids have if they are evenly spaced, read off the four
// corners; base 0: they are not. A corner must be a value of this tape, and
// newer than `since`, because the spacing of older values depends on the
// schedule. Whether the numbers in between keep to it is for adx_are_even to
// find out.
static adx_ids adx_ids_of_corners(const adx_view *a)
{
    static const adx_ids none;
    adx_ids ids = none;
    if (a->x == NULL || adx_view_size(a) == 0)
        return ids;
    ptrdiff_t across = (ptrdiff_t)(a->cols - 1) * a->cs;
    ptrdiff_t down = (ptrdiff_t)(a->rows - 1) * a->rs;
    const ptrdiff_t corner[4] = { 0, across, down, across + down };
    for (int i = 0; i < 4; i++)
        if ((i & 1 && a->cols == 1) || (i & 2 && a->rows == 1))
            continue;                   // it is one of the others
        else if ((a->x[corner[i]].job != (uint32_t)adx_now.job
             && !adx_member(adx_now.tape, a->x[corner[i]]))
            || a->x[corner[i]].seq <= ADX_SINCE)
            return ids;
    uint32_t base = a->x->seq;
    uint32_t row = a->rows == 1 ? 0 : a->x[a->rs].seq - base;
    uint32_t col = a->cols == 1 ? 0 : a->x[a->cs].seq - base;
    if (a->x[corner[3]].seq == base + (uint32_t)(a->rows - 1) * row
                             + (uint32_t)(a->cols - 1) * col)
        ids.base = base, ids.row = row, ids.col = col;
    return ids;
}

// The spacing that belongs to the view that adx_lying makes.
static inline adx_ids adx_lying_ids(const adx_view *a, const adx_ids *ids)
{
    adx_ids along = *ids;
    if (a->cols == 1)
        along.col = ids->row;
    return along;
}

// Whether all ids are what the corners promise.
static bool adx_are_even(const adx_view *a, const adx_ids *ids)
{
    const adx_view b = adx_lying(a);
    const adx_ids along = adx_lying_ids(a, ids);
    size_t i = 0;
    while (i < b.rows && adx_even_at(&b, &along, i))
        i++;
    return i == b.rows;
}

static bool adx_find_spacing(const adx_view *a, adx_ids *ids)
{
    *ids = adx_ids_of_corners(a);
    bool constant = adx_word(a->x) == 0;        // then all may be
    return (ids->base != 0 || constant) && adx_are_even(a, ids);
}
#endif

// Decides how the ids are stored: by their spacing, as a list (`listed`), or
// not at all because all numbers are constants. The list itself is written
// later, when the statement has its memory. But values of other recordings are
// looked up here: that may add entries, which must come before the statement.
#if ADREV_FIXED
// Sets ids as their spacing says. A list has no place yet.
ADX_INLINE void adx_set_ids(adx_ids *ids, uint64_t spacing, uint32_t row)
{
    ids->list = NULL;
    ids->base = (uint32_t)spacing;
    ids->row = row;
    ids->col = (uint32_t)(spacing >> 32);
    ids->listed = adx_is_list(spacing);
}

static adx_ids adx_classify(const adx_view *a)
{
    adx_ids ids;
    uint32_t row = 0;
    const bool any = a->x != NULL && adx_view_size(a) > 0;
    const uint64_t spacing = any ? adx_spacing_of(a, &row) : 0;
    adx_set_ids(&ids, spacing, row);
    return ids;
}
#else
// Whether any of the numbers is recorded. All of them are looked up.
ADX_APART bool adx_has_variable(const adx_view *a)
{
    const adx_view b = adx_lying(a);
    bool active = false;
    for (size_t i = 0; i < b.rows; i++)
        for (size_t j = 0; j < b.cols; j++)
            if (adx_id_here(b.x[adx_offset(&b, i, j)]) != 0)
                active = true;
    return active;
}

static adx_ids adx_classify(const adx_view *a)
{
    static const adx_ids none;
    adx_ids ids;                // the only one, so that it is not copied
    const bool any = a->x != NULL && adx_view_size(a) > 0;
    if (any && adx_find_spacing(a, &ids))
        return ids;
    ids = none;
    ids.listed = any && adx_has_variable(a);
    return ids;
}

// Packs a row of adjacent numbers and checks its ids in one loop, so that the
// numbers are read once.
static bool adx_pack_even_row(size_t n, const ad_rev x[], uint64_t id,
                              uint64_t stride, ad_real to[], ad_real *fault)
{
    uint64_t other = 0;
    size_t j = 0;
#ifdef ADX_LANES
    adx_duo_ids other_a = {0};
    adx_duo_ids other_b = {0};
    adx_duo_ids even = { id, id + stride };
    adx_duo fault_a = {0};
    adx_duo fault_b = {0};
    for (; j + 4 <= n; j += 4, even += 4 * stride) {
        adx_duo a = { x[j].v, x[j + 1].v };
        adx_duo b = { x[j + 2].v, x[j + 3].v };
        other_a |= even ^ (adx_duo_ids){ adx_word(&x[j]), adx_word(&x[j + 1]) };
        other_b |= (even + 2 * stride)
                 ^ (adx_duo_ids){ adx_word(&x[j + 2]), adx_word(&x[j + 3]) };
        *(adx_duo *)&to[j] = a;
        *(adx_duo *)&to[j + 2] = b;
        fault_a += a * 0;
        fault_b += b * 0;
    }
    other_a |= other_b;
    fault_a += fault_b;
    other = other_a[0] | other_a[1];
    *fault += fault_a[0] + fault_a[1];
#endif
    for (; j < n; j++) {
        other |= adx_word(&x[j]) ^ (id + j * stride);
        to[j] = x[j].v;
        *fault += x[j].v * 0;
    }
    return other == 0;
}

// Packs row i of any view, as adx_pack_even_row does one of stride 1. So a
// large matrix is read from memory only once. (bench: matvec, arrays, 0.87.)
static bool adx_pack_even_at(const adx_view *a, const adx_ids *ids, size_t i,
                             ad_real to[], ad_real *fault)
{
    if (a->cs == 1)
        return adx_pack_even_row(a->cols, a->x + (ptrdiff_t)i * a->rs,
                                 adx_even_id(a, ids, i),
                                 (uint64_t)(int32_t)ids->col, to, fault);
    *fault += adx_pack_one(a, i, to);
    return adx_even_at(a, ids, i);
}

// Packs all rows of a view whose ids are evenly spaced, as long as they are.
// False: they are not.
static bool adx_pack_even(const adx_view *a, const adx_ids *ids, ad_real to[],
                          ad_real *fault)
{
    const adx_view b = adx_lying(a);
    const adx_ids along = adx_lying_ids(a, ids);
    size_t i = 0;
    while (i < b.rows
           && adx_pack_even_at(&b, &along, i, to + i * b.cols, fault))
        i++;
    return i == b.rows;
}
#endif

ADX_INLINE bool adx_is_constant(const adx_ids *ids)
{
    return ids->base == 0 && !ids->listed;
}

// Writes the list, if there is one, and returns the end of it. A constant among
// recorded numbers becomes the sink.
ADX_APART uint32_t *adx_write_ids(const adx_view *a, adx_ids *ids, uint32_t *to)
{
    const adx_view b = adx_lying(a);
    ids->list = to;
    for (size_t i = 0; i < b.rows; i++)
        for (size_t j = 0; j < b.cols; j++) {
            uint32_t id = adx_id_here(b.x[adx_offset(&b, i, j)]);
            *to++ = id == 0 ? (uint32_t)ADX_SINK : id;
        }
    return to;
}

ADX_INLINE uint32_t *adx_write_list(const adx_view *a, adx_ids *ids,
                                    uint32_t *to)
{
    return ids->listed ? adx_write_ids(a, ids, to) : to;
}

#if ADREV_FIXED
ADX_APART void adx_write_row(size_t n, const ad_rev *x, ptrdiff_t inc,
                             adx_ids *ids)
{
    const adx_view row = adx_vector(n, x, inc);
    adx_write_ids(&row, ids, ids->list);
}
#endif

// The id of number i of a row: of a matrix, adx_id_of.
ADX_INLINE size_t adx_id(const adx_ids *ids, size_t i)
{
    return ids->list != NULL ? ids->list[i]
                             : (uint32_t)(ids->base + (uint32_t)i * ids->col);
}

ADX_INLINE size_t adx_id_of(const adx_ids *ids, size_t i, size_t j,
                            size_t cols)
{
    return ids->list != NULL ? ids->list[i * cols + j]
         : (uint32_t)(ids->base + (uint32_t)i * ids->row
                      + (uint32_t)j * ids->col);
}

// Whether the ids follow one another, so that the adjoints are a plain array.
static bool adx_adjacent(const adx_ids *ids)
{
    return ids->list == NULL && ids->base != 0 && ids->col == 1;
}

// Whether array statements are recorded now. A trace hook that cannot be told
// of arrays makes the tape fail: it would miss operations.
static bool adx_recording(void)
{
    ad_tape *t = adx_now.tape;
    if (t == NULL || t->status != ADREV_OK)
        return false;
#if !ADREV_FIXED
    if (ADX_TRACED && t->hooks.array == NULL)
        adx_fail_because(t, ADREV_EHOOK, "an array or external statement, and "
                         "the hooks that trace have none for it");
#endif
    return t->status == ADREV_OK;
}

#if !ADREV_FIXED
static ad_array_view adx_public_view(const adx_view *a)
{
    return (ad_array_view){ a->x, a->x == NULL ? a->v : NULL, a->rows, a->cols,
                            a->rs, a->cs };
}

static ad_array_operation adx_array_operation(ad_array_kind kind,
                                              const adx_extended *e)
{
    return (ad_array_operation){
        .kind = kind,
        .result = { 0, (uint32_t)e->first, (uint32_t)adx_now.job },
        .results = e->values, .file = adx_now.file, .line = adx_now.line
    };
}
#endif

// Tells the trace hook of an array statement. This comes before the results are
// named, because they may lie where the operands are.
static void adx_tell_array(ad_array_kind kind, ad_opcode code,
                           const adx_extended *e, const adx_view *a,
                           const adx_view *b, const adx_view *c)
{
#if ADREV_FIXED
    (void)kind; (void)code; (void)e; (void)a; (void)b; (void)c;
#else
    if (e == NULL || !ADX_UNLIKELY(ADX_TRACED))
        return;
    const ad_hooks *hooks = &adx_now.tape->hooks;
    ad_array_operation told = adx_array_operation(kind, e);
    const adx_view *view[] = { a, b, c };

    told.code = code;
    for (size_t i = 0; i < 3; i++)
        if (view[i] != NULL)
            told.arg[i] = adx_public_view(view[i]);
    hooks->array(hooks->user, &told);
#endif
}

// Adds an entry of that many bytes and fills in what all kinds have in common.
// The caller fills in the rest. NULL: the tape has failed.
static void *adx_add_extended(const adx_rule *rule, size_t bytes,
                              size_t values, size_t operands)
{
    adx_operand *site = NULL;
    if (ADREV_DEBUG) {
        adx_note_site(0);
        if (adx_now.tape->status != ADREV_OK)
            return NULL;
        site = adx_now.op - ADX_SITE_OPERANDS;
    }
    adx_extended *e = adx_add_bytes(&adx_now, ADX_EXTENDED, bytes, values);
    if (e == NULL)
        return NULL;
    e->rule = rule;
    e->before = NULL;
    e->site = site;
    e->care = false;
    e->first = adx_now.seq - values + 1;
    e->values = values;
    e->operands = operands;
    return e;
}

// With ADREV_DEBUG a site keeps one value: here the first result that is not
// finite.
static void adx_note_value(adx_operand *at, ad_real v)
{
    adx_site site;
    adx_stop_at(v);
    memcpy(&site, at, sizeof site);
    if (site.value * 0 != 0)
        return;
    site.value = v;
    memcpy(at, &site, sizeof site);
}

// Makes y result i of a statement, or a constant if no statement was recorded.
static void adx_set_result(ad_rev *y, ad_real v, const adx_extended *e,
                           size_t i)
{
    if (ADREV_DEBUG && e != NULL && v * 0 != 0)
        adx_note_value(e->site, v);
    adx_name(y, v, e == NULL ? 0 : adx_compound(adx_now.job, e->first + i));
}

#if ADREV_FIXED
// Gives n > 0 values that are written already their ids.
ADX_INLINE void adx_name_written(const adx_extended *e, size_t n, ad_rev *y)
{
    const uint32_t job = e == NULL ? 0 : (uint32_t)adx_now.job;
    const uint32_t stride = e != NULL;
    uint32_t seq = e == NULL ? 0 : (uint32_t)e->first;
    do {
        y->seq = seq;
        y->job = job;
        y++;
        ADX_OPAQUE(y);
        seq += stride;
    } while (--n > 0);
}
#endif

// Makes every inc-th element of y a result, from result `first` on.
static void adx_put_results(const adx_extended *e, size_t first, size_t n,
                            const ad_real v[], ad_rev y[], ptrdiff_t inc)
{
    if (inc == 1 && e != NULL && !ADREV_DEBUG)
        adx_name_run(n, v, y, adx_compound(adx_now.job, e->first + first));
    else
        for (size_t i = 0; i < n; i++)
            adx_set_result(&y[(ptrdiff_t)i * inc], v[i], e, first + i);
}

/* === array/linear ===========================================================
 * Linear statements: spans of operands with their partials, and one sum or n
 * results. They are enough for sums, scalar products with constants, norms and
 * operations on elements. Sweeps are the same for all: a loop over each span.
 *
 *   needs   number/recording tape/layout sweep/sweep array/operands
 *   offers  adx_axpy adx_few_products adx_products adx_inner_product
 *           adx_finite_all adx_copy_few adx_finite_few adx_zeros adx_chain
 *           adx_linear adx_linear_rule adx_addend adx_seal_linear
 *           adx_lay_linear adx_fill_span adx_add_linear adx_sum_of
 * ========================================================================== */

/* --- loops --------------------------------------------------------------- */

// y += a x; the arrays do not overlap.
static void adx_axpy(size_t n, ad_real a, const ad_real x[], ad_real y[])
{
    size_t i = 0;
#ifdef ADX_LANES
    for (; i + ADX_ACROSS <= n; i += ADX_ACROSS)
        *(adx_lanes *)&y[i] += a * *(const adx_lanes *)&x[i];
#endif
    for (; i < n; i++)
        y[i] += a * x[i];
}

// A scalar product with strides. It adds in the order of adx_inner_product, so
// it has the same bits: a value does not depend on which of its operands are
// recorded.
ADX_INLINE ad_real adx_few_products(ad_real total, size_t n, const ad_real x[],
                                    ptrdiff_t xs, const ad_real y[],
                                    ptrdiff_t ys)
{
    for (; n > 0; n--, x += xs, y += ys)
        total += *x * *y;
    return total;
}

// A scalar product in eight running sums, with any strides: the order of
// adx_inner_product. Small machines have one sum.
static ad_real adx_products(size_t n, const ad_real x[], ptrdiff_t xs,
                            const ad_real y[], ptrdiff_t ys)
{
    ad_real total = 0;
    size_t i = 0;
    if (n >= 8 && !ADREV_FIXED) {
        ad_real sum[8] = {0};
        for (; i + 8 <= n; i += 8, x += 8 * xs, y += 8 * ys)
            for (int k = 0; k < 8; k++)
                sum[k] += x[k * xs] * y[k * ys];
        for (int k = 0; k < 4; k++)
            sum[k] += sum[k + 4];
        total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    return adx_few_products(total, n - i, x, xs, y, ys);
}

// A scalar product in eight running sums, however wide a register is: in a
// single sum every addition would wait for the one before, and with a number of
// sums that depends on the register the last bits would, too.
ADX_APART ad_real adx_inner_product(size_t n, const ad_real x[],
                                    const ad_real y[])
{
#ifndef ADX_LANES
    return adx_products(n, x, 1, y, 1);
#else
    ad_real total = 0;
    size_t i = 0;
    const size_t half = 4 / ADX_ACROSS;
    adx_lanes sum[8 / ADX_ACROSS] = { {0} };
    for (; i + 8 <= n; i += 8)
        for (size_t r = 0; r < 2 * half; r++)
            sum[r] += ((const adx_lanes *)&x[i])[r]
                    * ((const adx_lanes *)&y[i])[r];
    for (size_t r = 0; r < half; r++) {
        sum[r] += sum[r + half];
        total += adx_total(&sum[r]);
    }
    for (x += i, y += i; i < n; i++)
        total += *x++ * *y++;
    return total;
#endif
}

// The sum of all a x. Each product is made by itself, because the sum of x
// alone may overflow.
static ad_real adx_sum_scaled(size_t n, ad_real a, const ad_real x[])
{
    ad_real total = 0;
    size_t i = 0;
#ifdef ADX_LANES
    adx_lanes sum = {0};
    for (; i + ADX_ACROSS <= n; i += ADX_ACROSS)
        sum += a * *(const adx_lanes *)&x[i];
    total = adx_total(&sum);
#endif
    for (; i < n; i++)
        total += a * x[i];
    return total;
}

// Whether all are finite, without a branch in the loop: x*0 is 0, or NaN where
// x is not finite.
static bool adx_finite_all(size_t n, const ad_real x[])
{
    ad_real sum = 0;
    size_t i = 0;
#ifdef ADX_LANES
    adx_lanes a = {0};
    for (; i + ADX_ACROSS <= n; i += ADX_ACROSS)
        a += *(const adx_lanes *)&x[i] * 0;
    sum = adx_total(&a);
#endif
    for (; i < n; i++)
        sum += x[i] * 0;
    return sum == 0;
}

// Copies what are mostly few numbers. For these a call of memcpy takes longer.
// A vector load would have to wait until numbers that were just written one by
// one are all stored, so the loop hides its pointers and stays a scalar one.
// (bench: loop, scan repl, 0.89; two at a time, with clang, 0.94.)
ADX_INLINE void adx_copy_few(size_t n, const ad_real *from, ad_real *to)
{
    if (n > 16) {
        memcpy(to, from, n * sizeof *to);
        return;
    }
    for (; n > 1; n -= 2, from += 2, to += 2) {
        ad_real x = from[0];
        ADX_OPAQUE(from);
        ad_real y = from[1];
        to[0] = x;
        ADX_OPAQUE(to);
        to[1] = y;
    }
    if (n > 0)
        *to = *from;
}

// As adx_finite_all, and scalar for the same reason as adx_copy_few.
ADX_INLINE bool adx_finite_few(size_t n, const ad_real *x)
{
    ad_real sum = 0;
    if (n > 16)
        return adx_finite_all(n, x);
    for (; n > 0; n--, x++) {
        ADX_OPAQUE(x);
        sum += *x * 0;
    }
    return sum == 0;
}

static bool adx_zeros(size_t n, const ad_real x[])
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

// The chain rule for one partial in W directions: to += d from. `care` is for
// factors that may not be finite: then a factor of zero gives zero. Small
// machines look at each product instead of at all factors beforehand.
ADX_INLINE void adx_chain(ad_real to[], ad_real d, const ad_real from[],
                          size_t W, bool care)
{
#if ADREV_COUNT
    if (W == 1 && from[0] != 0)
        adx_count_reverse(d, to[0]);
#endif
    for (size_t w = 0; w < W; w++)
        to[w] += ADREV_FIXED ? adx_chained(d, from[w])
               : care ? adx_absorb(d, from[w]) : d * from[w];
}

/* --- linear statements --------------------------------------------------- */

// n operands, of which operand i has the partial scale * d[i].
typedef struct adx_span {
    adx_ids ids;
    ad_real *d;                 // NULL: 1; else with ADREV_FIXED scale is 1
    ad_real scale;
} adx_span;

#if ADREV_FIXED
// Small machines have a loop each for three kinds of spans. In all, n > 0, and
// adj are the adjoints that the ids name: those of a list, or else `id` and
// what follows at that stride. The sink may be one of them.
#define ADX_EACH_ID(product)                                                \
    if (list == NULL)                                                       \
        do {                                                                \
            adj[id] += product;                                             \
            id += stride;                                                   \
        } while (--n > 0);                                                  \
    else                                                                    \
        do                                                                  \
            adj[*list++] += product;                                        \
        while (--n > 0)

// adj += d y, element by element
ADX_INLINE void adx_add_each_at(size_t n, const ad_real d[],
                                const ad_real y[], const uint32_t *list,
                                uint32_t id, uint32_t stride, ad_real adj[])
{
    ADX_EACH_ID(adx_chained(*d++, *y++));
}

// adj += c
ADX_INLINE void adx_add_same_at(size_t n, ad_real c, const uint32_t *list,
                                uint32_t id, uint32_t stride, ad_real adj[])
{
    ADX_EACH_ID(c);
}

// adj += c d, where a zero c has nothing to add, and one that is infinite or
// NaN could meet a zero.
ADX_COLD static void adx_add_special(size_t n, ad_real c, const ad_real d[],
                                     const uint32_t *list, uint32_t id,
                                     uint32_t stride, ad_real adj[])
{
    if (adx_is_zero(c))
        return;
    ADX_EACH_ID(adx_chained(*d++, c));
}

// adj += c d. A plain c absorbs nothing, and nothing absorbs it.
ADX_INLINE void adx_add_scaled(size_t n, ad_real c, const ad_real d[],
                               const uint32_t *list, uint32_t id,
                               uint32_t stride, ad_real adj[])
{
    if (ADX_UNLIKELY(!adx_is_plain(c))) {
        adx_add_special(n, c, d, list, id, stride, adj);
        return;
    }
    ADX_EACH_ID(c * *d++);
}
#undef ADX_EACH_ID
#endif

// A linear statement has up to three spans. Either it has one result, the sum
// of all terms of all spans, or it has n results (`each`): result i is the sum
// of the i-th terms.
typedef struct adx_linear {
    adx_extended e;
    size_t n;                   // terms of a span; results if `each`
    size_t spans;               // how many are used
    bool each;
    adx_span span[3];
} adx_linear;

ADX_INLINE ad_real adx_partial(const adx_span *s, size_t i)
{
    return s->d == NULL ? s->scale : s->scale * s->d[i];
}

// The reverse sweep of one span in the fast case: one direction, adjacent ids,
// and no factor that needs care. So every loop is a vector loop.
static void adx_span_reverse(const adx_linear *s, const adx_span *p,
                             const ad_real y[], ad_real x[])
{
    ad_real a = y[0] * p->scale;
    if (!s->each && p->d != NULL)
        adx_axpy(s->n, a, p->d, x);
    else if (!s->each)
        for (size_t i = 0; i < s->n; i++)
            x[i] += a;
    else if (p->d == NULL)
        adx_axpy(s->n, p->scale, y, x);
    else
        for (size_t i = 0; i < s->n; i++)
            x[i] += p->scale * p->d[i] * y[i];
}

// The fast case of a span in which one number is the operand of all n results:
// what all results contribute to it, as one sum.
static ad_real adx_span_reverse_one(const adx_linear *s, const adx_span *p,
                                    const ad_real y[])
{
    return p->d == NULL ? adx_sum_scaled(s->n, p->scale, y)
                        : p->scale * adx_inner_product(s->n, p->d, y);
}

// A statement whose adjoints are all zero contributes nothing. Otherwise each
// span takes a vector loop if it can, and the general loop if not. A W that is
// known to the compiler unrolls the loop over directions.
ADX_INLINE bool adx_linear_reverse_w(const adx_linear *s, ad_real adj[],
                                     size_t W)
{
    const ad_real *y = &adj[s->e.first * W];
    size_t stride = s->each ? W : 0;

    if (adx_zeros(s->e.values * W, y))
        return true;
    bool care = s->e.care || !adx_finite_all(s->e.values * W, y);
    for (const adx_span *p = s->span; p < s->span + s->spans; p++) {
        if (adx_is_constant(&p->ids))
            continue;
        bool fast = !ADREV_COUNT && W == 1 && !care && p->ids.list == NULL;
        if (fast && p->ids.col == 1) {
            adx_span_reverse(s, p, y, &adj[p->ids.base]);
            continue;
        }
        if (fast && p->ids.col == 0 && s->each) {
            adj[p->ids.base] += adx_span_reverse_one(s, p, y);
            continue;
        }
        for (size_t i = 0; i < s->n; i++) {
            size_t id = adx_id(&p->ids, i);
            if (id != 0)        // 0 is the sink
                adx_chain(&adj[id * W], adx_partial(p, i), &y[i * stride], W,
                          care);
        }
    }
    return true;
}

#if ADREV_FIXED && !ADREV_COUNT
static bool adx_linear_reverse(const adx_extended *e, ad_real adj[],
                               ad_real scratch[], size_t W)
{
    const adx_linear *s = (const adx_linear *)e;
    const ad_real *y = &adj[e->first];
    (void)scratch; (void)W;
    if (adx_zeros(e->values, y))
        return true;
    const adx_span *p = s->span;
    for (size_t left = s->spans; left > 0; left--, p++) {
        const uint32_t *list = p->ids.list;
        const uint32_t id = p->ids.base;
        const uint32_t stride = p->ids.col;
        if (adx_is_constant(&p->ids))
            continue;
        if (p->d == NULL && !s->each)
            adx_add_same_at(s->n, adx_chained(p->scale, *y), list, id, stride,
                            adj);
        else if (p->d == NULL || !s->each)
            adx_add_scaled(s->n, p->d == NULL ? p->scale : *y,
                           p->d == NULL ? y : p->d, list, id, stride, adj);
        else
            adx_add_each_at(s->n, p->d, y, list, id, stride, adj);
    }
    return true;
}
#else
static bool adx_linear_reverse(const adx_extended *e, ad_real adj[],
                               ad_real scratch[], size_t W)
{
    const adx_linear *s = (const adx_linear *)e;
    (void)scratch;
    return W == 1 ? adx_linear_reverse_w(s, adj, 1)
         : W == 4 ? adx_linear_reverse_w(s, adj, 4)
         : adx_linear_reverse_w(s, adj, W);
}
#endif

// Each result gets, from each span, partial times tangent.
static bool adx_linear_forward(const adx_extended *e, ad_real tan[],
                               ad_real scratch[], size_t W)
{
    const adx_linear *s = (const adx_linear *)e;
    ad_real *y = &tan[e->first * W];
    size_t stride = s->each ? W : 0;
    (void)scratch;

    for (const adx_span *p = s->span; p < s->span + s->spans; p++)
        for (size_t i = 0; !adx_is_constant(&p->ids) && i < s->n; i++)
            adx_chain(&y[i * stride], adx_partial(p, i),
                      &tan[adx_id(&p->ids, i) * W], W, true);
    return true;
}

static const char adx_linear_rule_name[] = "linear";
static const adx_rule adx_linear_rule = {
    adx_linear_rule_name, adx_linear_reverse, adx_linear_forward, NULL
};

// Stores a span's partials and returns whether all are finite. A scale other
// than 1 or -1 is multiplied into them here, once, instead of in every sweep.
static bool adx_pack_scaled(adx_span *p, const adx_view *d, size_t n)
{
    ad_real fault = adx_pack_view(d, p->d);
    if (p->scale == 1 || p->scale == -1)
        return fault == 0;
    ADX_TALLY(reverse, mul, n);
    for (size_t i = 0; i < n; i++)
        p->d[i] *= p->scale;
    p->scale = 1;
    return ADREV_FIXED || adx_finite_all(n, p->d);
}

// What a span is made from when a statement is recorded.
typedef struct adx_addend {
    adx_view x;                 // operands
    const adx_view *d;          // their partials are these; NULL: 1
    ad_real scale;
    bool own;                   // the caller writes them, where there is room
} adx_addend;

// Ends a statement whose partials the caller has written (`own`): from now on
// it is known whether its sweep needs care.
static void adx_seal_linear(adx_linear *s)
{
    for (size_t k = 0; k < s->spans && !ADREV_FIXED; k++) {
        const adx_span *p = &s->span[k];
        s->e.care = s->e.care || p->scale * 0 != 0
               || (p->d != NULL && !adx_finite_all(s->n, p->d));
    }
}

#if ADREV_FIXED
ADX_COLD static void adx_place_lists(adx_linear *s, uint32_t *list)
{
    for (size_t k = 0; k < s->spans; k++)
        if (s->span[k].ids.listed) {
            s->span[k].ids.list = list;
            list += s->n;
        }
}

// Adds a statement whose ids are stored as `spacing` says: the struct, then the
// partials of those spans that `stored` has a bit for, then room for the lists.
// NULL: nothing is recorded, because all operands are constants or the tape has
// failed. What is left to the caller are scales other than 1, partials and ids.
static adx_linear *adx_lay_linear(size_t n, bool each, size_t spans,
                                  const uint64_t spacing[], unsigned stored)
{
    bool any = false;
    bool lists = false;
    size_t bytes = sizeof(adx_linear);
    for (size_t k = 0; k < spans; k++) {
        if (spacing[k] == 0)
            continue;
        any = true;
        bytes += stored >> k & 1 ? n * sizeof(ad_real) : 0;
        if (adx_is_list(spacing[k])) {
            bytes += n * sizeof(uint32_t);
            lists = true;
        }
    }
    if (!any || adx_now.tape->status != ADREV_OK)
        return NULL;
    adx_linear *s = adx_add_extended(&adx_linear_rule, bytes, each ? n : 1,
                                     spans * n);
    if (s == NULL)
        return NULL;
    ad_real *room = (ad_real *)(s + 1);
    s->n = n;
    s->spans = spans;
    s->each = each;
    for (adx_span *p = s->span; p < s->span + spans; p++, stored >>= 1) {
        const uint64_t ids = *spacing++;
        adx_set_ids(&p->ids, ids, 0);
        p->scale = 1;
        p->d = NULL;
        if (ids != 0 && stored & 1) {
            p->d = room;
            room += n;
        }
    }
    if (lists)
        adx_place_lists(s, (uint32_t *)(void *)room);
    return s;
}

// Says where the partials of x go, and writes its list of ids.
ADX_INLINE ad_real *adx_fill_span(size_t n, const ad_rev *x, ptrdiff_t inc,
                                  adx_span *p)
{
    if (p->ids.listed)
        adx_write_row(n, x, inc, &p->ids);
    return p->d;
}

// Records a linear statement of n terms in each addend.
static adx_linear *adx_add_linear(size_t n, bool each, size_t addends,
                                  const adx_addend addend[])
{
    uint64_t spacing[3] = { 0, 0, 0 };      // or gcc warns of addends == 0
    unsigned stored = 0;
    if (n == 0 || !adx_recording())
        return NULL;
    for (size_t k = 0; k < addends; k++) {
        spacing[k] = adx_spacing(n, addend[k].x.x, addend[k].x.cs);
        stored |= (unsigned)(addend[k].own || addend[k].d != NULL) << k;
    }
    adx_linear *s = adx_lay_linear(n, each, addends, spacing, stored);
    for (size_t k = 0; s != NULL && k < addends; k++) {
        adx_span *p = &s->span[k];
        p->scale = addend[k].scale;
        adx_fill_span(n, addend[k].x.x, addend[k].x.cs, p);
        if (p->d != NULL && !addend[k].own)
            adx_pack_scaled(p, addend[k].d, n);
    }
    return s;
}
#else
// Whether a span keeps partials of its own on the tape.
static bool adx_stores(const adx_addend *p, const adx_ids *ids)
{
    return !adx_is_constant(ids)
        && (p->own || p->d != NULL);
}

// Classifies the ids of all addends and adds up the bytes of the statement; 0:
// all operands are constants.
static size_t adx_linear_bytes(size_t n, size_t addends,
                               const adx_addend addend[], adx_ids ids[])
{
    size_t bytes = sizeof(adx_linear);
    bool active = false;

    for (size_t k = 0; k < addends; k++) {
        ids[k] = adx_classify(&addend[k].x);
        active = active || !adx_is_constant(&ids[k]);
        bytes += adx_stores(&addend[k], &ids[k]) ? n * sizeof(ad_real) : 0;
        bytes += ids[k].listed ? n * sizeof(uint32_t) : 0;
    }
    return active ? bytes : 0;
}

// Records a linear statement of n terms in each addend. Its memory is the
// struct, then the partials of every span that stores them, then the lists of
// ids. NULL: nothing is recorded, because all operands are constants or the
// tape has failed.
static adx_linear *adx_add_linear(size_t n, bool each, size_t addends,
                                  const adx_addend addend[])
{
    adx_ids ids[3];
    if (n == 0 || !adx_recording())
        return NULL;
    size_t bytes = adx_linear_bytes(n, addends, addend, ids);
    if (bytes == 0 || adx_now.tape->status != ADREV_OK)
        return NULL;
    adx_linear *s = adx_add_extended(&adx_linear_rule, bytes, each ? n : 1,
                                     addends * n);
    if (s == NULL)
        return NULL;

    ad_real *room = (ad_real *)(s + 1);
    s->n = n;
    s->spans = addends;
    s->each = each;
    for (size_t k = 0; k < addends; k++) {
        bool stores = adx_stores(&addend[k], &ids[k]);
        s->span[k] = (adx_span){ ids[k], stores ? room : NULL,
                                 addend[k].scale };
        bool finite = stores && !addend[k].own
                    ? adx_pack_scaled(&s->span[k], addend[k].d, n)
                    : addend[k].scale * 0 == 0;
        s->e.care = !ADREV_FIXED && (s->e.care || !finite);
        room += stores ? n : 0;
    }
    uint32_t *list = (uint32_t *)(void *)room;
    for (size_t k = 0; k < addends; k++)
        list = adx_write_list(&addend[k].x, &s->span[k].ids, list);
    return s;
}
#endif

// Names the result v of a sum or of a scalar product, and tells the hook.
static ad_rev adx_sum_result(ad_real v, size_t n, const adx_addend addend[],
                             const adx_linear *s)
{
    ad_rev y;
    bool product = addend->d != NULL;
    (void)n;
    adx_tell_array(product ? ADREV_ARRAY_dot : ADREV_ARRAY_sum, ADREV_OP_COUNT,
                   ADX_BASE(s), &addend->x, addend->d, NULL);
    ADX_TALLY(forward, add, s == NULL ? 0 : n - 1);
    ADX_TALLY(forward, mul, s == NULL || !product ? 0 : n);
    adx_set_result(&y, v, ADX_BASE(s), 0);
    return y;
}

static ad_rev adx_sum_of(ad_real v, size_t n, const adx_addend *addend)
{
    return adx_sum_result(v, n, addend, adx_add_linear(n, false, 1, addend));
}

/* === array/sums =============================================================
 * Sums, operations element by element, and softmax. Each statement computes its
 * value, records spans of operands with their partials (array/linear), tells
 * the hook, and only then writes its results, which may lie where the operands
 * are.
 *
 *   needs   number/recording number/fronts tape/layout array/operands
 *           array/linear
 *   offers  adx_scalar_product adx_length adx_largest adx_any_each_op
 *           adx_softmax adx_softmax_rule
 * ========================================================================== */

/* --- sums ---------------------------------------------------------------- */

ADX_API ad_rev (ad_sum_s)(size_t n, const ad_rev *x, ptrdiff_t incx)
{
    if (adx_missing_s(n, x, incx))
        return adx_no_result();
    const adx_addend addend = { .x = adx_vector(n, x, incx), .scale = 1 };
    ad_real v = 0;
    for (size_t i = 0; i < n; i++)
        v += adx_element(&addend.x, 0, i);
    return adx_sum_of(v, n, &addend);
}

static ad_real adx_scalar_product(const adx_view *a, const adx_view *b)
{
    return adx_products(a->cols, a->v, a->cs * a->unit, b->v,
                        b->cs * b->unit);
}

ADX_API ad_rev (ad_dotc_s)(size_t n, const ad_rev *x, ptrdiff_t incx,
                           const ad_real *c, ptrdiff_t incc)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, c, incc))
        return adx_no_result();
    const adx_view factors = adx_constants(n, c, incc);
    const adx_addend addend = { .x = adx_vector(n, x, incx), .d = &factors,
                                .scale = 1 };
    return adx_sum_of(adx_scalar_product(&addend.x, &factors), n, &addend);
}

// Euclidean length. Dividing by the largest entry keeps the squares from
// overflowing and underflowing.
static ad_real adx_length(const adx_view *x)
{
    ad_real most = 0;
    ad_real sum = 0;
    for (size_t i = 0; i < x->cols; i++) {
        ad_real size = adm_fabs(adx_element(x, 0, i));
        most = size > most || size != size ? size : most;
    }
    if (most == 0 || most * 0 != 0)
        return most;
    for (size_t i = 0; i < x->cols; i++) {
        ad_real ratio = adx_element(x, 0, i) / most;
        sum += ratio * ratio;
    }
    return most * adm_sqrt(sum);
}

// v = |x| has the partials x/v, and 0 at the origin, the subgradient of least
// norm. They are written here (`own`), when the statement has been added.
ADX_API ad_rev (ad_norm2_s)(size_t n, const ad_rev *x, ptrdiff_t incx)
{
    if (adx_missing_s(n, x, incx))
        return adx_no_result();
    const adx_addend addend = { .x = adx_vector(n, x, incx), .scale = 1,
                                .own = true };
    ad_real v = adx_length(&addend.x);
    adx_linear *s = adx_add_linear(n, false, 1, &addend);
    ad_rev y;

    adx_tell_array(ADREV_ARRAY_norm2, ADREV_OP_COUNT,
                   ADX_BASE(s), &addend.x, NULL, NULL);
    ADX_TALLY(forward, add, s == NULL ? 0 : n - 1);
    ADX_TALLY(forward, mul, s == NULL ? 0 : 3 * n + 1);
    ADX_TALLY(forward, fn, s == NULL ? 0 : 1);
    for (size_t i = 0; s != NULL && i < n; i++)
        s->span[0].d[i] = v == 0 ? 0 : adx_element(&addend.x, 0, i) / v;
    if (s != NULL)
        adx_seal_linear(s);
    adx_set_result(&y, v, ADX_BASE(s), 0);
    return y;
}

// v = |x - y|^2: the partials are 2 (x - y), with the opposite sign for y.
ADX_API ad_rev (ad_sqdist_s)(size_t n, const ad_rev *x, ptrdiff_t incx,
                             const ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return adx_no_result();
    const adx_addend addend[2] = {
        { .x = adx_vector(n, x, incx), .scale = 1, .own = true },
        { .x = adx_vector(n, y, incy), .scale = 1, .own = true },
    };
    adx_linear *s = adx_add_linear(n, false, 2, addend);
    ad_real v = 0;
    ad_rev z;

    adx_tell_array(ADREV_ARRAY_sqdist, ADREV_OP_COUNT,
                   ADX_BASE(s), &addend[0].x, &addend[1].x, NULL);
    ADX_TALLY(forward, add, s == NULL ? 0 : 2 * n - 1);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    for (size_t i = 0; i < n; i++) {
        ad_real d = adx_element(&addend[0].x, 0, i)
                  - adx_element(&addend[1].x, 0, i);
        v += d * d;
        for (size_t k = 0; s != NULL && k < 2; k++)
            if (s->span[k].d != NULL)
                s->span[k].d[i] = k == 0 ? 2 * d : -2 * d;
    }
    if (s != NULL)
        adx_seal_linear(s);
    adx_set_result(&z, v, ADX_BASE(s), 0);
    return z;
}

// The largest entry, or NaN if there is one.
static ad_real adx_largest(const adx_view *x)
{
    ad_real most = -ADX_K(INFINITY);
    for (size_t i = 0; i < x->cols; i++) {
        ad_real v = adx_element(x, 0, i);
        most = v > most || v != v ? v : most;
    }
    return most;
}

// The largest number is taken out of all exponents, so the weights exp(x -
// most) do not overflow. Divided by their sum they are the partials.
ADX_API ad_rev (ad_logsumexp_s)(size_t n, const ad_rev *x, ptrdiff_t incx)
{
    if (adx_missing_s(n, x, incx))
        return adx_no_result();
    const adx_addend addend = { .x = adx_vector(n, x, incx), .scale = 1,
                                .own = true };
    ad_real most = adx_largest(&addend.x);
    adx_linear *s = adx_add_linear(n, false, 1, &addend);
    ad_real sum = 0;
    ad_rev y;

    adx_tell_array(ADREV_ARRAY_logsumexp, ADREV_OP_COUNT,
                   ADX_BASE(s), &addend.x, NULL, NULL);
    ADX_TALLY(forward, add, s == NULL ? 0 : 2 * n);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    ADX_TALLY(forward, fn, s == NULL ? 0 : n + 1);
    for (size_t i = 0; i < n; i++) {
        ad_real weight = adx_weight(adx_element(&addend.x, 0, i), most);
        sum += weight;
        if (s != NULL)
            s->span[0].d[i] = weight;
    }
    for (size_t i = 0; s != NULL && i < n; i++)
        s->span[0].d[i] /= sum;
    if (s != NULL)
        adx_seal_linear(s);
    adx_set_result(&y, n == 0 ? most : most + adm_log(sum), ADX_BASE(s), 0);
    return y;
}

/* --- element by element -------------------------------------------------- */

// y[i] + a x[i] as a linear statement of three spans: n times the number a,
// with the partials x; x, with the partial a; and y.
ADX_API void (ad_axpy_s)(size_t n, ad_rev a, const ad_rev *x, ptrdiff_t incx,
                         ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return;
    const adx_view factor = adx_vector(n, &a, 0);
    const adx_view from = adx_vector(n, x, incx);
    const adx_view partials = from;     // nobody has its address: faster
    const adx_addend addend[3] = {
        { .x = factor, .d = &partials, .scale = 1 },
        { .x = from, .scale = a.v },
        { .x = adx_vector(n, y, incy), .scale = 1 },
    };
    adx_linear *s = adx_add_linear(n, true, 3, addend);

    adx_tell_array(ADREV_ARRAY_axpy, ADREV_OP_COUNT,
                   ADX_BASE(s), &factor, &from, &addend[2].x);
    ADX_TALLY(forward, add, s == NULL ? 0 : n);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    for (size_t i = 0; i < n; i++) {
        ad_rev *to = &y[(ptrdiff_t)i * incy];
        adx_set_result(to, a.v * adx_element(&from, 0, i) + to->v, ADX_BASE(s),
                       i);
    }
}

ADX_API void (ad_scale_s)(size_t n, ad_rev a, const ad_rev *x,
                          ptrdiff_t incx, ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return;
    const adx_view from = adx_vector(n, x, incx);
    const adx_addend addend[2] = {
        { .x = adx_vector(n, &a, 0), .d = &from, .scale = 1 },
        { .x = from, .scale = a.v },
    };
    adx_linear *s = adx_add_linear(n, true, 2, addend);

    adx_tell_array(ADREV_ARRAY_scale, ADREV_OP_COUNT,
                   ADX_BASE(s), &addend[0].x, &from, NULL);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    for (size_t i = 0; i < n; i++)
        adx_set_result(&y[(ptrdiff_t)i * incy], a.v * adx_element(&from, 0, i),
                       ADX_BASE(s), i);
}

#if ADREV_FIXED
#define ADX_LOOP_IF(to, f)                                                  \
    if ((to) != NULL)                                                       \
        *(to)++ = f(a, b, c, y);
#define ADX_LOOPS_1(name) ADX_LOOP_IF(da, adx_fx_##name)
#define ADX_LOOPS_2(name) ADX_LOOPS_1(name) ADX_LOOP_IF(db, adx_fy_##name)
#define ADX_LOOPS_3(name) ADX_LOOPS_2(name) ADX_LOOP_IF(dc, adx_fz_##name)
// Of a linear operation the partials are the same for all elements: one of each
// is written.
#define ADX_ROW(name, arity, f, fx, fy, fz, x0, x1, y0, y1, z0, z1, how)    \
    ADX_API void adx_loops_##name(ADX_LOOPED)                               \
    {                                                                       \
        const bool linear = ((how) & ADX_LINEAR) != 0;                      \
        const ad_rev *xa = x[0];                                            \
        const ad_rev *xb = x[1];                                            \
        const ad_rev *xc = x[2];                                            \
        ad_real *da = d[0];                                                 \
        ad_real *db = d[1];                                                 \
        ad_real *dc = d[2];                                                 \
        (void)db; (void)dc;                                                 \
        do {                                                                \
            const ad_real a = xa->v;                                        \
            const ad_real b = xb->v;                                        \
            const ad_real c = xc->v;                                        \
            const ad_real y = adx_f_##name(a, b, c);                        \
            if (!linear || n == 1) {                                        \
                ADX_LOOPS_##arity(name)                                     \
            }                                                               \
            v->v = y;                                                       \
            xa++, xb++, xc++, v++;                                          \
        } while (--n > 0);                                                  \
    }
#define ADX_STEP(name, ...)                                                 \
    ADX_API void adx_loops_##name(ADX_LOOPED)                               \
    {                                                                       \
        (void)d;                                                            \
        for (size_t i = 0; i < n; i++)                                      \
            v[i].v = adx_f_##name(x[0][i].v);                               \
    }
#else
#define ADX_LOOP(to, value)                                                 \
    for (size_t i = 0; i < n; i++)                                          \
        (to)[i] = value
#define ADX_LOOP_IF(to, f)                                                  \
    if ((to) != NULL)                                                       \
        ADX_LOOP(to, f(a[i], b[i], c[i], v[i]))
#define ADX_LOOPS_1(name) ADX_LOOP_IF(d[0], adx_fx_##name)
#define ADX_LOOPS_2(name) ADX_LOOPS_1(name); ADX_LOOP_IF(d[1], adx_fy_##name)
#define ADX_LOOPS_3(name) ADX_LOOPS_2(name); ADX_LOOP_IF(d[2], adx_fz_##name)
#define ADX_ROW(name, arity, ...)                                           \
    ADX_API void adx_loops_##name(ADX_LOOPED)                               \
    {                                                                       \
        const ad_real *a = x[0];                                            \
        const ad_real *b = x[1];                                            \
        const ad_real *c = x[2];                                            \
        ADX_LOOP(v, adx_f_##name(a[i], b[i], c[i]));                        \
        ADX_LOOPS_##arity(name);                                            \
    }
#define ADX_STEP(name, ...)                                                 \
    ADX_API void adx_loops_##name(ADX_LOOPED)                               \
    {                                                                       \
        (void)d;                                                            \
        ADX_LOOP(v, adx_f_##name(x[0][i]));                                 \
    }
#endif
ADREV_OPS(ADX_ROW)
ADREV_STEPS(ADX_STEP)
#undef ADX_ROW
#undef ADX_STEP
#undef ADX_LOOP
#undef ADX_LOOP_IF
#undef ADX_LOOPS_1
#undef ADX_LOOPS_2
#undef ADX_LOOPS_3

// The row of a code that is known only now.
ADX_APART adx_each_op adx_any_each_op(ad_opcode op)
{
    return adx_each_op_of(op);
}

#if !ADREV_FIXED
// The value of an operation at a single element.
static ad_real adx_value_of(adx_each_op row, ad_real x, ad_real y, ad_real z)
{
    const ad_real *const at[3] = { &x, &y, &z };
    ad_real *const none[3] = { NULL, NULL, NULL };
    ad_real v;
    row.loops(1, at, &v, none);
    return v;
}
#endif

#if ADREV_FIXED
// The partials of a linear operation are the scales of its spans.
ADX_APART void adx_set_scales(adx_each_op row, adx_linear *s)
{
    const ad_rev zero = ADX_ZERO;
    const ad_rev *const at[3] = { &zero, &zero, &zero };
    ad_real *const d[3] = { &s->span[0].scale, &s->span[1].scale,
                            &s->span[2].scale };
    ad_rev v;
    row.loops(1, at, &v, d);
}

// Computes elements one by one where an array has a stride, and where each is
// to be looked at.
ADX_APART void adx_each_apart(adx_each_op row, size_t n, const ad_rev *x[3],
                              const ptrdiff_t inc[3], ad_real *d[3],
                              const adx_extended *e, ad_rev *y, ptrdiff_t incy)
{
    for (size_t i = 0; i < n; i++, y += incy) {
        row.loops(1, x, y, d);
        for (size_t k = 0; k < row.arity; k++) {
            x[k] += inc[k];
            d[k] = d[k] == NULL ? NULL : d[k] + 1;
        }
#if ADREV_COUNT
        adx_count_op(row.op, e == NULL ? 0 : (unsigned)row.arity);
#endif
        adx_set_result(y, y->v, e, i);
    }
}

// The operation becomes one linear statement with n results and a span for each
// operand. Sums and differences have a scale instead of partials.
ADX_API void adx_each_s(adx_each_op row, size_t n, const ad_rev *a,
                        ptrdiff_t inca, const ad_rev *b, ptrdiff_t incb,
                        const ad_rev *c, ptrdiff_t incc, ad_rev *y,
                        ptrdiff_t incy)
{
    const bool two = row.arity > 1;
    const bool three = row.arity > 2;
    if (row.loops == NULL) {
        adx_failed(ADREV_ESHAPE);
        return;
    }
    if (adx_missing_s(n, a, inca) || (two && adx_missing_s(n, b, incb))
        || (three && adx_missing_s(n, c, incc)) || adx_missing_s(n, y, incy)
        || n == 0)
        return;
    uint64_t spacing[3];
    adx_linear *s = NULL;
    if (!row.step && adx_recording()) {
        spacing[0] = adx_spacing(n, a, inca);
        if (two)
            spacing[1] = adx_spacing(n, b, incb);
        if (three)
            spacing[2] = adx_spacing(n, c, incc);
        s = adx_lay_linear(n, true, row.arity, spacing, row.linear ? 0 : 7);
    }
    const ad_rev *x[3] = { a, two ? b : a, three ? c : a };
    ad_real *d[3] = { NULL, NULL, NULL };
    if (s != NULL) {
        if (row.linear)
            adx_set_scales(row, s);
        d[0] = adx_fill_span(n, a, inca, &s->span[0]);
        if (two)
            d[1] = adx_fill_span(n, b, incb, &s->span[1]);
        if (three)
            d[2] = adx_fill_span(n, c, incc, &s->span[2]);
    }
    if (ADREV_COUNT || ADREV_DEBUG || incy != 1 || inca != 1
        || (two && incb != 1) || (three && incc != 1)) {
        const ptrdiff_t more = n > 1;       // a single number has no stride
        const ptrdiff_t inc[3] = { more * inca, more * incb, more * incc };
        adx_each_apart(row, n, x, inc, d, ADX_BASE(s), y, more * incy);
        return;
    }
    row.loops(n, x, y, d);
    adx_name_written(ADX_BASE(s), n, y);
}
#else
// The partial with respect to operand k where it is the same for all elements,
// so that none is stored; 0: it is not.
static ad_real adx_uniform(adx_each_op row, size_t k)
{
    const adx_each_number zero = {0};
    const adx_each_number *const at[3] = { &zero, &zero, &zero };
    adx_each_number v;
    ad_real uniform = 0;
    ad_real *d[3] = { NULL, NULL, NULL };
    d[k] = &uniform;
    if (row.linear)
        row.loops(1, at, &v, d);
    return uniform;
}

#define ADX_TOGETHER 64         // elements that are worked on at a time

// Elements from .. from + n. The operands are packed into small arrays that
// stay in the cache, so that one loop per formula serves every stride. The
// partials are written where the statement stores them.
static void adx_each_piece(adx_each_op row, size_t from, size_t n,
                           const adx_addend addend[], adx_linear *s, ad_rev y[],
                           ptrdiff_t incy)
{
    ad_real given[3][ADX_TOGETHER];
    ad_real v[ADX_TOGETHER];
    const ad_real *const x[3] = { given[0], given[row.arity > 1 ? 1 : 0],
                                  given[row.arity > 2 ? 2 : 0] };
    ad_real *d[3] = { NULL, NULL, NULL };

    for (size_t k = 0; k < 3 && k < row.arity; k++) {
        adx_view piece = addend[k].x;
        piece.v += (ptrdiff_t)from * piece.cs * piece.unit;
        piece.cols = n;
        adx_pack_one(&piece, 0, given[k]);
        if (s != NULL && s->span[k].d != NULL)
            d[k] = s->span[k].d + from;
    }
    row.loops(n, x, v, d);
#if ADREV_COUNT
    for (size_t i = 0; i < n; i++)
        adx_count_op(row.op, s == NULL ? 0 : (unsigned)row.arity);
#endif
    adx_put_results(ADX_BASE(s), from, n, v,
                    &y[(ptrdiff_t)from * incy], incy);
}

static void adx_record_each(adx_each_op row, size_t n,
                            const adx_addend addend[], adx_linear *s,
                            ad_rev y[], ptrdiff_t incy)
{
    for (size_t from = 0; from < n; from += ADX_TOGETHER)
        adx_each_piece(row, from,
                       n - from < ADX_TOGETHER ? n - from : ADX_TOGETHER,
                       addend, s, y, incy);
    if (s != NULL)
        adx_seal_linear(s);
}

// The results of a step function are constants and make no statement. The trace
// hook is told of each of them as of a single operation.
static void adx_watch_steps(adx_each_op row, const adx_view *a)
{
    for (size_t i = 0; i < a->cols; i++) {
        ad_rev x = a->x[adx_offset(a, 0, i)];
        if (x.job != 0)
            adx_observed(row.op, adx_value_of(row, x.v, 0, 0), x, x);
    }
}

// The operation becomes one linear statement with n results and a span for each
// operand. Sums and differences have a scale instead of partials.
ADX_API void adx_each_s(adx_each_op row, size_t n, const ad_rev *a,
                        ptrdiff_t inca, const ad_rev *b, ptrdiff_t incb,
                        const ad_rev *c, ptrdiff_t incc, ad_rev *y,
                        ptrdiff_t incy)
{
    const size_t arity = row.arity;
    if (row.loops == NULL) {
        adx_failed(ADREV_ESHAPE);
        return;
    }
    if (adx_missing_s(n, a, inca) || (arity > 1 && adx_missing_s(n, b, incb))
        || (arity > 2 && adx_missing_s(n, c, incc))
        || adx_missing_s(n, y, incy))
        return;
    const ad_rev *const x[3] = { a, b, c };
    const ptrdiff_t inc[3] = { inca, incb, incc };
    adx_addend addend[3];
    size_t k = 0;
    do {                            // there is a first operand: gcc is told
        ad_real scale = adx_uniform(row, k);
        addend[k].x = adx_vector(n, x[k], inc[k]);
        addend[k].d = NULL;
        addend[k].own = scale == 0;
        addend[k].scale = scale == 0 ? 1 : scale;
    } while (++k < 3 && k < arity);
    if (row.step && ADX_TRACED)
        adx_watch_steps(row, &addend[0].x);
    adx_linear *s = row.step ? NULL : adx_add_linear(n, true, arity, addend);
    adx_tell_array(ADREV_ARRAY_each, row.op, ADX_BASE(s),
                   &addend[0].x, arity > 1 ? &addend[1].x : NULL,
                   arity > 2 ? &addend[2].x : NULL);
    adx_record_each(row, n, addend, s, y, incy);
}
#endif

ADX_API void (ad_each_s)(ad_opcode op, size_t n, const ad_rev *a,
                         ptrdiff_t inca, const ad_rev *b, ptrdiff_t incb,
                         const ad_rev *c, ptrdiff_t incc, ad_rev *y,
                         ptrdiff_t incy)
{
    adx_each_s(adx_any_each_op(op), n, a, inca, b, incb, c, incc, y, incy);
}

/* --- softmax ------------------------------------------------------------- */

// Both sweeps have the same formula, y (b - s), where s is the sum of all y b.
// If b is the adjoint of y, it gives the adjoint of x; if b is the tangent of
// x, it gives the tangent of y.
typedef struct adx_softmax {
    adx_extended e;
    adx_ids ids;                // of x
    ad_real *y;                 // [n] the results, which both sweeps need
} adx_softmax;

// xb[i] += y[i] (yb[i] - sum over j of y[j] yb[j]).
static bool adx_softmax_reverse(const adx_extended *e, ad_real adj[],
                                ad_real scratch[], size_t W)
{
    const adx_softmax *s = (const adx_softmax *)e;
    const ad_real *yb = &adj[e->first * W];
    (void)scratch;

    for (size_t w = 0; w < W; w++) {
        ad_real sum = 0;
        for (size_t i = 0; i < e->values; i++)
            sum += adx_absorb(s->y[i], yb[i * W + w]);
        for (size_t i = 0; i < e->values; i++)
            adj[adx_id(&s->ids, i) * W + w] +=
                adx_absorb(s->y[i], yb[i * W + w] - sum);
    }
    ADX_TALLY(reverse, add, 3 * e->values);
    ADX_TALLY(reverse, mul, 2 * e->values);
    ADX_TALLY(reverse, written, e->values);
    return true;
}

// yd[i] = y[i] (xd[i] - sum over j of y[j] xd[j]).
static bool adx_softmax_forward(const adx_extended *e, ad_real tan[],
                                ad_real scratch[], size_t W)
{
    const adx_softmax *s = (const adx_softmax *)e;
    ad_real *yd = &tan[e->first * W];
    (void)scratch;

    for (size_t w = 0; w < W; w++) {
        ad_real sum = 0;
        for (size_t i = 0; i < e->values; i++)
            sum += adx_absorb(s->y[i], tan[adx_id(&s->ids, i) * W + w]);
        for (size_t i = 0; i < e->values; i++)
            yd[i * W + w] +=
                adx_absorb(s->y[i], tan[adx_id(&s->ids, i) * W + w] - sum);
    }
    return true;
}

static const char adx_softmax_rule_name[] = "softmax";
static const adx_rule adx_softmax_rule = {
    adx_softmax_rule_name, adx_softmax_reverse, adx_softmax_forward, NULL
};

// Adds the statement, whose y its caller fills. NULL: nothing is recorded.
static adx_softmax *adx_add_softmax(const adx_view *x)
{
    size_t n = x->cols;
    if (n == 0 || !adx_recording())
        return NULL;
    adx_ids ids = adx_classify(x);
    if (adx_is_constant(&ids) || adx_now.tape->status != ADREV_OK)
        return NULL;
    size_t bytes = sizeof(adx_softmax) + n * sizeof(ad_real)
                 + (ids.listed ? n * sizeof(uint32_t) : 0);
    adx_softmax *s = adx_add_extended(&adx_softmax_rule, bytes, n, n);
    if (s == NULL)
        return NULL;
    s->ids = ids;
    s->y = (ad_real *)(s + 1);
    adx_write_list(x, &s->ids, (uint32_t *)(void *)(s->y + n));
    return s;
}

// The largest number is taken out of all exponents. The weights are computed
// twice, once for their sum and once for the results.
ADX_API void (ad_softmax_s)(size_t n, const ad_rev *x, ptrdiff_t incx,
                            ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return;
    const adx_view from = adx_vector(n, x, incx);
    adx_softmax *s = adx_add_softmax(&from);
    ad_real most = adx_largest(&from);
    ad_real sum = 0;

    adx_tell_array(ADREV_ARRAY_softmax, ADREV_OP_COUNT,
                   ADX_BASE(s), &from, NULL, NULL);
    ADX_TALLY(forward, add, s == NULL ? 0 : 2 * n);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    ADX_TALLY(forward, fn, s == NULL ? 0 : n);
    for (size_t i = 0; i < n; i++)
        sum += adx_weight(adx_element(&from, 0, i), most);
    for (size_t i = 0; i < n; i++) {
        ad_real v = adx_weight(adx_element(&from, 0, i), most) / sum;
        if (s != NULL)
            s->y[i] = v;
        adx_set_result(&y[(ptrdiff_t)i * incy], v, ADX_BASE(s), i);
    }
}

/* === array/products =========================================================
 * Products of matrices, and of a triangular matrix with a vector. As a linear
 * statement each result would store the partials of all its terms. A product
 * stores its two matrices once instead, and its sweeps multiply by them. A dot
 * product is a row times a column (with ADREV_FIXED, a linear statement), and
 * in a product with a vector the second matrix has one column.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries
 *           array/operands array/linear array/sums
 *   offers  adx_product adx_product_rule adx_triangle adx_triangle_rule
 * ========================================================================== */

/* --- products of matrices ------------------------------------------------ */

// C = A B, of which the reverse sweep makes Ab += Cb B' and Bb += A' Cb. So a
// matrix is saved if the other one has recorded numbers. Where n = 1, B is a
// vector.
typedef struct adx_product {
    adx_extended e;
    size_t m;
    size_t k;
    size_t n;
    adx_ids a_ids;
    adx_ids b_ids;
    ad_real *a;                 // [m*k]; NULL: B is constant
    ad_real *b;                 // [k*n]; NULL: A is constant
} adx_product;

// Rows of B that are worked on together: 64 rows of 512 numbers fill a cache of
// 256 kB. (A product of that size: 0.77.)
#define ADX_PANEL 64

// One direction, no factor that needs care, and the ids of each row of B
// adjacent, or B constant. Each element (i, l) of A meets row l of B and row i
// of the adjoints of C: their scalar product is added to the adjoint of the
// element, and a multiple of the latter row to the adjoints of the former. Rows
// of B and of its adjoints stay in the cache while i runs.
static void adx_product_fast(const adx_product *s, ad_real adj[])
{
    const ad_real *c = &adj[s->e.first];
    bool a_active = !adx_is_constant(&s->a_ids);
    bool b_active = !adx_is_constant(&s->b_ids);

    for (size_t from = 0; from < s->k; from += ADX_PANEL) {
        size_t to = s->k - from < ADX_PANEL ? s->k : from + ADX_PANEL;
        for (size_t i = 0; i < s->m; i++)
            for (size_t l = from; l < to; l++) {
                if (a_active)
                    adj[adx_id_of(&s->a_ids, i, l, s->k)] +=
                        adx_inner_product(s->n, &c[i * s->n], &s->b[l * s->n]);
                if (b_active)
                    adx_axpy(s->n, s->a[i * s->k + l], &c[i * s->n],
                             &adj[adx_id_of(&s->b_ids, l, 0, s->n)]);
            }
    }
}

#if !ADREV_FIXED
// adj += c d, where adj are the adjoints that the ids name: those of a list, or
// else `id` and what follows at that stride.
static void adx_add_scaled(size_t n, ad_real c, const ad_real d[],
                           const uint32_t *list, uint32_t id, uint32_t stride,
                           ad_real adj[])
{
    if (list == NULL && stride == 1) {
        adx_axpy(n, c, d, &adj[id]);
        return;
    }
    for (size_t i = 0; i < n; i++, id += stride) {
        size_t at = list != NULL ? list[i] : id;
        if (at != 0)
            adj[at] += c * d[i];
    }
}
#endif

#if ADREV_FIXED
// The fast case of a vector B with any ids: first the adjoints of A, row by
// row, then those of the vector.
static void adx_column_reverse(const adx_product *s, ad_real adj[])
{
    const ad_real *c = &adj[s->e.first];
    const ad_real *row = s->a;
    const uint32_t *list = s->a_ids.list;
    uint32_t id = s->a_ids.base;
    for (size_t i = 0; s->b != NULL && i < s->m; i++) {
        adx_add_scaled(s->k, c[i], s->b, list, id, s->a_ids.col, adj);
        id += s->a_ids.row;
        list = list == NULL ? NULL : list + s->k;
    }
    for (size_t i = 0; row != NULL && i < s->m; i++, row += s->k)
        adx_add_scaled(s->k, c[i], row, s->b_ids.list, s->b_ids.base,
                       s->b_ids.row, adj);
}
#else
// The fast case of a vector B with any ids. The adjoints of row i of A grow by
// c[i] times the vector, and those of the vector by c[i] times row i. `list` or
// `id` is where the ids of row i begin.
static void adx_column_reverse(const adx_product *s, ad_real adj[])
{
    const ad_real *c = &adj[s->e.first];
    const uint32_t *list = s->a_ids.list;
    uint32_t id = s->a_ids.base;

    for (size_t i = 0; i < s->m; i++) {
        if (c[i] != 0 && s->b != NULL)
            adx_add_scaled(s->k, c[i], s->b, list, id, s->a_ids.col, adj);
        if (c[i] != 0 && s->a != NULL)
            adx_add_scaled(s->k, c[i], &s->a[i * s->k], s->b_ids.list,
                           s->b_ids.base, s->b_ids.row, adj);
        id += s->a_ids.row;
        if (list != NULL)
            list += s->k;
    }
}
#endif

// The general case: any number of directions, any ids.
ADX_INLINE void adx_product_reverse_w(const adx_product *s, ad_real adj[],
                                      size_t W, bool care)
{
    const ad_real *from = &adj[s->e.first * W];
    size_t n = s->n;

    for (size_t i = 0; i < s->m; i++, from += n * W)
        for (size_t l = 0; l < s->k; l++)
            for (size_t j = 0; j < n; j++) {
                size_t x = adx_id_of(&s->a_ids, i, l, s->k);
                size_t y = adx_id_of(&s->b_ids, l, j, n);
                if (x != 0)
                    adx_chain(&adj[x * W], s->b[l * n + j], &from[j * W], W,
                              care);
                if (y != 0)
                    adx_chain(&adj[y * W], s->a[i * s->k + l], &from[j * W],
                              W, care);
            }
}

// Whether adx_product_fast and adx_triangle_fast can take operands with these
// ids.
static bool adx_rows_fit(const adx_ids *ids)
{
    return adx_is_constant(ids) || adx_adjacent(ids);
}

// C = A B. The adjoints, with a prime for transposes: Ab += Cb B', Bb += A' Cb.
// Which of the loops is used depends on the number of directions, on how the
// ids lie, and on whether zero factors need care.
static bool adx_product_reverse(const adx_extended *e, ad_real adj[],
                                ad_real scratch[], size_t W)
{
    const adx_product *s = (const adx_product *)e;
    (void)scratch;

    if (adx_zeros(e->values * W, &adj[e->first * W]))
        return true;
    bool care = !ADREV_FIXED
             && (s->e.care
                 || !adx_finite_all(e->values * W, &adj[e->first * W]));
    bool fast = W == 1 && !care && !ADREV_COUNT;
    if (fast && s->n == 1)
        adx_column_reverse(s, adj);
    else if (!ADREV_FIXED && fast && adx_rows_fit(&s->b_ids))
        adx_product_fast(s, adj);
    else if (!ADREV_FIXED && W == 4 && !care)
        adx_product_reverse_w(s, adj, 4, false);
    else if (!ADREV_FIXED && W == 8 && !care)
        adx_product_reverse_w(s, adj, 8, false);
    else
        adx_product_reverse_w(s, adj, ADREV_FIXED ? 1 : W, true);
    return true;
}

// C = A B. The tangent of C is that of A times B, plus A times that of B.
static bool adx_product_forward(const adx_extended *e, ad_real tan[],
                                ad_real scratch[], size_t W)
{
    const adx_product *s = (const adx_product *)e;
    ad_real *c = &tan[e->first * W];
    (void)scratch;

    for (size_t i = 0; i < s->m; i++)
        for (size_t l = 0; l < s->k; l++)
            for (size_t j = 0; j < s->n; j++) {
                ad_real *to = &c[(i * s->n + j) * W];
                if (!adx_is_constant(&s->a_ids))
                    adx_chain(to, s->b[l * s->n + j],
                              &tan[adx_id_of(&s->a_ids, i, l, s->k) * W], W,
                              true);
                if (!adx_is_constant(&s->b_ids))
                    adx_chain(to, s->a[i * s->k + l],
                              &tan[adx_id_of(&s->b_ids, l, j, s->n) * W], W,
                              true);
            }
    return true;
}

static const char adx_product_rule_name[] = "product";
static const adx_rule adx_product_rule = {
    adx_product_rule_name, adx_product_reverse, adx_product_forward, NULL
};

#if ADREV_FIXED
// Adds the entry of a product: the struct, then the matrices that are saved,
// then room for the lists of ids. The caller packs the matrices and writes the
// lists. NULL: all numbers are constants, or the tape has failed.
ADX_INLINE adx_product *adx_lay_product(size_t m, size_t k, size_t n,
                                        uint64_t a_ids, uint32_t a_row,
                                        uint64_t b_ids, uint32_t b_row)
{
    const size_t a_saved = b_ids == 0 ? 0 : m * k;
    const size_t b_saved = a_ids == 0 ? 0 : k * n;
    const size_t listed = (adx_is_list(a_ids) ? m * k : 0)
                        + (adx_is_list(b_ids) ? k * n : 0);
    if ((a_ids | b_ids) == 0 || adx_now.tape->status != ADREV_OK)
        return NULL;
    adx_product *s = adx_add_extended(&adx_product_rule,
        sizeof *s + (a_saved + b_saved) * sizeof(ad_real)
            + listed * sizeof(uint32_t), m * n, (m + n) * k);
    if (s == NULL)
        return NULL;
    ad_real *room = (ad_real *)(s + 1);
    s->a = a_saved == 0 ? NULL : room;
    room += a_saved;
    s->b = b_saved == 0 ? NULL : room;
    uint32_t *list = (uint32_t *)(void *)(room + b_saved);
    s->m = m;
    s->k = k;
    s->n = n;
    adx_set_ids(&s->a_ids, a_ids, a_row);
    adx_set_ids(&s->b_ids, b_ids, b_row);
    s->a_ids.list = s->a_ids.listed ? list : NULL;
    list += s->a_ids.listed ? m * k : 0;
    s->b_ids.list = s->b_ids.listed ? list : NULL;
    return s;
}

static void adx_fill_matrix(const adx_view *a, adx_ids *ids, ad_real *saved)
{
    if (saved != NULL)
        adx_pack_view(a, saved);
    if (ids->listed)
        adx_write_ids(a, ids, ids->list);
}

// Records a product; no value is known before.
static adx_product *adx_add_product(const adx_view *a, const adx_view *b,
                                    const ad_real **value)
{
    uint32_t a_row;
    uint32_t b_row;
    *value = NULL;
    if (adx_view_size(a) == 0 || b->cols == 0 || !adx_recording())
        return NULL;
    const uint64_t a_ids = adx_spacing_of(a, &a_row);
    const uint64_t b_ids = adx_spacing_of(b, &b_row);
    adx_product *s = adx_lay_product(a->rows, a->cols, b->cols, a_ids, a_row,
                                     b_ids, b_row);
    if (s == NULL)
        return NULL;
    ADX_TALLY(forward, add, a->rows * (a->cols - 1) * b->cols);
    ADX_TALLY(forward, mul, adx_view_size(a) * b->cols);
    adx_fill_matrix(a, &s->a_ids, s->a);
    adx_fill_matrix(b, &s->b_ids, s->b);
    return s;
}

// Records y = A x.
ADX_INLINE adx_product *adx_add_matvec(const adx_view *a, const ad_rev *x,
                                       ptrdiff_t incx)
{
    uint32_t row = 0;
    const size_t k = a->cols;
    if (adx_view_size(a) == 0 || !adx_recording())
        return NULL;
    const uint64_t a_ids = a->x == NULL ? 0 : adx_spacing_of(a, &row);
    const uint64_t x_ids = adx_spacing(k, x, incx);
    adx_product *s = adx_lay_product(a->rows, k, 1, a_ids, row, x_ids,
                                     (uint32_t)(x_ids >> 32));
    if (s == NULL)
        return NULL;
    ADX_TALLY(forward, add, a->rows * (k - 1));
    ADX_TALLY(forward, mul, a->rows * k);
    adx_fill_matrix(a, &s->a_ids, s->a);
    if (s->b != NULL)
        adx_pack_row(k, &x->v, incx * ADX_UNIT, s->b);
    if (s->b_ids.listed)
        adx_write_row(k, x, incx, &s->b_ids);
    return s;
}
#else
// Packs A and B right where the entry of the product will lie, before that
// entry is made, so that large matrices are read once: while they are packed,
// it is checked that their ids are as evenly spaced as the corners promise. If
// they turn out not to be, nothing has been recorded yet, and the caller
// classifies and packs in the usual way.
//
// For a vector B the results are computed in the same pass, while a row is in
// the cache, into the free room behind the entry. They stay there until another
// entry is made. (bench: matvec, arrays, 0.95.)
static bool adx_product_ahead(const adx_view *a, const adx_view *b,
                              adx_ids *ai, adx_ids *bi, ad_real *fault,
                              const ad_real **value)
{
    size_t bytes = sizeof(adx_product)
                 + (adx_view_size(a) + adx_view_size(b)) * sizeof(ad_real);
    *ai = adx_ids_of_corners(a);
    *bi = adx_ids_of_corners(b);
    if (ADREV_DEBUG || ADX_TRACED || ai->base == 0 || bi->base == 0)
        return false;
    adx_ahead ahead = adx_look_ahead(bytes, a->rows * sizeof(ad_real));
    if (ahead.payload == NULL)
        return false;
    ad_real *at = (ad_real *)((adx_product *)ahead.payload + 1);
    ad_real *column = at + adx_view_size(a);
    ad_real *product = b->cols == 1 ? (ad_real *)ahead.behind : NULL;
    bool even = adx_pack_even(b, bi, column, fault);
    for (size_t i = 0; even && i < a->rows; i++, at += a->cols) {
        even = adx_pack_even_at(a, ai, i, at, fault);
        if (product != NULL)
            product[i] = adx_inner_product(a->cols, at, column);
    }
    // a block that was added for this entry is of no use to others
    if (!even && ahead.added != NULL)
        adx_drop_next(adx_now.tape);
    *value = even ? product : NULL;
    return even;
}

// Adds the entry of a product: the struct, then the matrices that are saved,
// then the lists of ids. If both matrices are packed already, they lie where
// this puts them.
static adx_product *adx_lay_product(const adx_view *a, const adx_view *b,
                                    const adx_ids *ai, const adx_ids *bi)
{
    size_t a_size = adx_view_size(a);
    size_t b_size = adx_view_size(b);
    size_t a_saved = adx_is_constant(bi) ? 0 : a_size;
    size_t b_saved = adx_is_constant(ai) ? 0 : b_size;
    size_t listed = (ai->listed ? a_size : 0) + (bi->listed ? b_size : 0);
    adx_product *s = adx_add_extended(&adx_product_rule,
        sizeof *s + (a_saved + b_saved) * sizeof(ad_real)
            + listed * sizeof(uint32_t), a->rows * b->cols, a_size + b_size);
    if (s == NULL)
        return NULL;

    ad_real *room = (ad_real *)(s + 1);
    s->m = a->rows;
    s->k = a->cols;
    s->n = b->cols;
    s->a_ids = *ai;
    s->b_ids = *bi;
    s->a = adx_is_constant(bi) ? NULL : room;
    s->b = adx_is_constant(ai) ? NULL : room + a_saved;
    uint32_t *list = (uint32_t *)(void *)(room + a_saved + b_saved);
    list = adx_write_list(a, &s->a_ids, list);
    adx_write_list(b, &s->b_ids, list);
    return s;
}

// Records a product. *value points to the results if they are known already,
// else it is NULL.
static adx_product *adx_add_product(const adx_view *a, const adx_view *b,
                                    const ad_real **value)
{
    *value = NULL;
    if (adx_view_size(a) == 0 || b->cols == 0 || !adx_recording())
        return NULL;
    adx_ids ai;
    adx_ids bi;
    ad_real fault = 0;
    bool packed = adx_product_ahead(a, b, &ai, &bi, &fault, value);
    if (!packed) {
        ai = adx_classify(a);
        bi = adx_classify(b);
    }
    if ((adx_is_constant(&ai) && adx_is_constant(&bi))
        || adx_now.tape->status != ADREV_OK)
        return NULL;
    adx_product *s = adx_lay_product(a, b, &ai, &bi);
    if (s == NULL)
        return NULL;
    ADX_TALLY(forward, add, a->rows * (a->cols - 1) * b->cols);
    ADX_TALLY(forward, mul, adx_view_size(a) * b->cols);
    if (!packed && s->a != NULL)
        fault += adx_pack_view(a, s->a);
    if (!packed && s->b != NULL)
        fault += adx_pack_view(b, s->b);
    s->e.care = fault != 0;
    return s;
}
#endif

static const adx_product *adx_add_matrices(const adx_view *a, const adx_view *b,
                                           const ad_real **value)
{
    const adx_product *s = adx_add_product(a, b, value);
    adx_tell_array(ADREV_ARRAY_matmul, ADREV_OP_COUNT, ADX_BASE(s), a, b, NULL);
    return s;
}

// Columns of C are computed in panels of so many, so that their part of B stays
// in the cache and their sums on the stack. (A product of 768 x 768 instead of
// row by row, gcc: 0.5.)
#define ADX_COLUMNS 128

// Computes a panel: n columns of C, from column `from` on. Row i of it is the
// sum of the rows l of B, each times element (i, l) of A. If the statement s
// has saved B, its rows are contiguous, and the sum is a loop over vectors.
static void adx_multiply_panel(const adx_view *a, const adx_view *b,
                               const adx_product *s, size_t from, size_t n,
                               ad_rev C[], ptrdiff_t rs, ptrdiff_t cs)
{
    for (size_t i = 0; i < a->rows; i++) {
        ad_real sum[ADX_COLUMNS] = {0};
        for (size_t l = 0; l < a->cols; l++) {
            ad_real x = adx_element(a, i, l);
            if (s != NULL && s->b != NULL)
                adx_axpy(n, x, &s->b[l * b->cols + from], sum);
            else
                for (size_t j = 0; j < n; j++)
                    sum[j] += x * adx_element(b, l, from + j);
        }
        adx_put_results(ADX_BASE(s), i * b->cols + from, n, sum,
                        &C[(ptrdiff_t)i * rs + (ptrdiff_t)from * cs], cs);
    }
}

static void adx_multiply(const adx_view *a, const adx_view *b,
                         const adx_product *s, ad_rev C[], ptrdiff_t rs,
                         ptrdiff_t cs)
{
    for (size_t from = 0; from < b->cols; from += ADX_COLUMNS) {
        size_t left = b->cols - from;
        adx_multiply_panel(a, b, s, from,
                           left < ADX_COLUMNS ? left : ADX_COLUMNS, C, rs, cs);
    }
}

#if ADREV_FIXED
// y = A x, recorded and computed.
static void adx_matvec(const adx_view *a, const ad_rev *x, ptrdiff_t incx,
                       ad_rev *y, ptrdiff_t incy)
{
    incx = a->cols > 1 ? incx : 0;
    incy = a->rows > 1 ? incy : 0;
    const adx_product *s = adx_add_matvec(a, x, incx);
    const ptrdiff_t along = a->cs * a->unit;
    const ptrdiff_t down = a->rs * a->unit;
    const ptrdiff_t stride = incx * ADX_UNIT;
    const size_t k = a->cols;
    const ad_real *row = a->v;
    const ad_real *v = adx_first_value(x);
    for (size_t i = 0; i < a->rows; i++, y += incy) {
        const ad_real sum = adx_few_products(0, k, row, along, v, stride);
        adx_set_result(y, sum, ADX_BASE(s), i);
        if (k > 0)              // else there may be no array, and no NULL + 0
            row += down;
    }
}
#else
// y = A x, by scalar products, or from the results that adx_product_ahead left.
static void adx_multiply_vector(const adx_view *a, const adx_view *x,
                                const adx_product *s, const ad_real value[],
                                ad_rev y[], ptrdiff_t inc)
{
    const ptrdiff_t along = a->cs * a->unit;
    const ptrdiff_t down = x->rs * x->unit;
    // without columns there may be no array, and NULL + 0 is undefined
    const bool empty = a->cols == 0;
    for (size_t i = 0; i < a->rows; i++) {
        const ad_real *row = empty ? a->v
                           : a->v + (ptrdiff_t)i * a->rs * a->unit;
        ad_real v = value != NULL ? value[i]
                  : adx_products(a->cols, row, along, x->v, down);
        adx_set_result(&y[(ptrdiff_t)i * inc], v, ADX_BASE(s), i);
    }
}

static void adx_matvec(const adx_view *a, const ad_rev *x, ptrdiff_t incx,
                       ad_rev *y, ptrdiff_t incy)
{
    const adx_view column = adx_matrix(a->cols, 1, x, incx, 0);
    const ad_real *value;
    const adx_product *s = adx_add_matrices(a, &column, &value);
    adx_multiply_vector(a, &column, s, value, y, incy);
}
#endif

#if ADREV_FIXED
// A scalar product. The values of y are the partials of x, and those of x the
// ones of y, where they are wanted.
ADX_INLINE ad_real adx_dot_row(size_t n, const ad_rev *x, ptrdiff_t incx,
                               const ad_rev *y, ptrdiff_t incy, ad_real *dx,
                               ad_real *dy)
{
    ad_real total = 0;
    for (; n > 0; n--, x += incx, y += incy) {
        const ad_real a = x->v;
        const ad_real b = y->v;
        if (dx != NULL)
            *dx++ = b;
        if (dy != NULL)
            *dy++ = a;
        total += a * b;
    }
    return total;
}

// A linear statement: the partials of each array are the values of the other.
// Of an array with itself they are 2 x.
ADX_FRAME ADX_API ad_rev (ad_dot_s)(size_t n, const ad_rev *x, ptrdiff_t incx,
                                    const ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return adx_no_result();
    incx = n > 1 ? incx : 0;
    incy = n > 1 ? incy : 0;
    const size_t spans = x == y && incx == incy ? 1 : 2;
    adx_linear *s = NULL;
    ad_rev z;
    if (n > 0 && adx_recording()) {
        const uint64_t ids[2] = { adx_spacing(n, x, incx),
                                  spans == 1 ? 0 : adx_spacing(n, y, incy) };
        s = adx_lay_linear(n, false, spans, ids, 3);
    }
    ADX_TALLY(forward, add, s == NULL ? 0 : n - 1);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    ad_real *dx = NULL;
    ad_real *dy = NULL;
    if (s != NULL) {
        dx = adx_fill_span(n, x, incx, &s->span[0]);
        if (spans == 2)
            dy = adx_fill_span(n, y, incy, &s->span[1]);
    }
    const ad_real sum = adx_dot_row(n, x, incx, y, incy, dx, dy);
    for (size_t i = 0; spans == 1 && s != NULL && i < n; i++)
        dx[i] *= 2;
    adx_set_result(&z, sum, ADX_BASE(s), 0);
    return z;
}
#else
// x . x: one span of n operands with partials 2 x, half of what a product of
// two vectors would store.
static ad_rev adx_square_sum(const adx_view *x)
{
    const adx_addend addend = { .x = *x, .d = x, .scale = 2 };
    return adx_sum_of(adx_scalar_product(x, x), x->cols, &addend);
}

ADX_API ad_rev (ad_dot_s)(size_t n, const ad_rev *x, ptrdiff_t incx,
                          const ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return adx_no_result();
    const adx_view a = adx_vector(n, x, incx);
    const adx_view b = adx_vector(n, y, incy);
    if (x == y && incx == incy)
        return adx_square_sum(&a);
    ad_rev z;
    const adx_view column = adx_matrix(n, 1, y, incy, 0);
    const ad_real *value;
    const adx_product *s = adx_add_product(&a, &column, &value);
    adx_tell_array(ADREV_ARRAY_dot, ADREV_OP_COUNT, ADX_BASE(s),
                   &a, &b, NULL);
    adx_multiply_vector(&a, &column, s, value, &z, 1);
    return z;
}
#endif

ADX_API void (ad_matmul_s)(size_t m, size_t k, size_t n, const ad_rev *A,
                           ptrdiff_t ars, ptrdiff_t acs, const ad_rev *B,
                           ptrdiff_t brs, ptrdiff_t bcs, ad_rev *C,
                           ptrdiff_t crs, ptrdiff_t ccs)
{
    if (adx_missing_matrix(m, k, A, ars, acs)
        || adx_missing_matrix(k, n, B, brs, bcs)
        || adx_missing_matrix(m, n, C, crs, ccs) || m == 0 || n == 0)
        return;
    const adx_view a = adx_matrix(m, k, A, ars, acs);
    if (n == 1) {
        adx_matvec(&a, B, brs, C, crs);
        return;
    }
    const adx_view b = adx_matrix(k, n, B, brs, bcs);
    const ad_real *value;
    adx_multiply(&a, &b, adx_add_matrices(&a, &b, &value), C, crs, ccs);
}

ADX_FRAME ADX_API void (ad_matvec_s)(size_t m, size_t n, const ad_rev *A,
                                     ptrdiff_t ars, ptrdiff_t acs,
                                     const ad_rev *x, ptrdiff_t incx,
                                     ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_matrix(m, n, A, ars, acs) || adx_missing_s(n, x, incx)
        || adx_missing_s(m, y, incy))
        return;
    const adx_view a = adx_matrix(m, n, A, ars, acs);
    adx_matvec(&a, x, incx, y, incy);
}

ADX_API void (ad_matvecc)(size_t m, size_t n, const ad_real A[],
                          const ad_rev x[], ad_rev y[])
{
    if (adx_missing(adx_size_times(m, n), A) || adx_missing(n, x)
        || adx_missing(m, y))
        return;
    const adx_view a = { NULL, A, m, n, (ptrdiff_t)n, 1, 1 };
    adx_matvec(&a, x, 1, y, 1);
}

/* --- a triangular matrix times a vector ---------------------------------- */

// y = L x. L has the diagonal d and, below it, l column by column. In reverse
//     xb[i] = d[i] yb[i] + the sum over j > i of l[j,i] yb[j],
//     db[i] = x[i] yb[i],
//     lb[j,i] = x[i] yb[j].
typedef struct adx_triangle {
    adx_extended e;
    size_t n;
    adx_ids d_ids;
    adx_ids l_ids;
    adx_ids x_ids;
    ad_real *d;                 // [n]
    ad_real *l;                 // [n(n-1)/2]
    ad_real *x;                 // [n]
} adx_triangle;

// One direction, adjacent ids, no factor that needs care. Column i of L and the
// adjoints of y below i are arrays of the same length, `below`.
static void adx_triangle_fast(const adx_triangle *s, ad_real adj[])
{
    const ad_real *y = &adj[s->e.first];
    const ad_real *l = s->l;
    ad_real *lb = adx_is_constant(&s->l_ids) ? NULL : &adj[s->l_ids.base];

    for (size_t i = 0; i < s->n; i++) {
        size_t below = s->n - 1 - i;
        if (!adx_is_constant(&s->d_ids))
            adj[s->d_ids.base + i] += s->x[i] * y[i];
        if (!adx_is_constant(&s->x_ids))
            adj[s->x_ids.base + i] += s->d[i] * y[i]
                                    + adx_inner_product(below, l, &y[i + 1]);
        if (lb != NULL) {
            adx_axpy(below, s->x[i], &y[i + 1], lb);
            lb += below;
        }
        l += below;
    }
}

// The general case: visits every element of L in any number of directions. It
// adds adjoints if `back`, else tangents.
static void adx_triangle_sweep(const adx_triangle *s, ad_real adj[], size_t W,
                               bool back)
{
    size_t at = 0;

    for (size_t i = 0; i < s->n; i++)
        for (size_t j = i; j < s->n; j++) {
            const adx_ids *ids = j == i ? &s->d_ids : &s->l_ids;
            ad_real c = j == i ? s->d[i] : s->l[at];
            ad_real *y = &adj[(s->e.first + j) * W];
            ad_real *element = &adj[adx_id(ids, j == i ? i : at) * W];
            ad_real *x = &adj[adx_id(&s->x_ids, i) * W];
            if (!adx_is_constant(ids))
                adx_chain(back ? element : y, s->x[i], back ? y : element, W,
                          true);
            if (!adx_is_constant(&s->x_ids))
                adx_chain(back ? x : y, c, back ? y : x, W, true);
            at += j > i;
        }
}

// The fast way is for one direction, adjacent ids and finite numbers; the other
// one is right for all.
static bool adx_triangle_reverse(const adx_extended *e, ad_real adj[],
                                 ad_real scratch[], size_t W)
{
    const adx_triangle *s = (const adx_triangle *)e;
    const ad_real *y = &adj[e->first * W];
    (void)scratch;

    if (adx_zeros(e->values * W, y))
        return true;
    if (!ADREV_FIXED && !ADREV_COUNT && W == 1 && !s->e.care
        && adx_finite_all(e->values, y) && adx_rows_fit(&s->d_ids)
        && adx_rows_fit(&s->l_ids) && adx_rows_fit(&s->x_ids))
        adx_triangle_fast(s, adj);
    else
        adx_triangle_sweep(s, adj, W, true);
    return true;
}

static bool adx_triangle_forward(const adx_extended *e, ad_real tan[],
                                 ad_real scratch[], size_t W)
{
    (void)scratch;
    adx_triangle_sweep((const adx_triangle *)e, tan, W, false);
    return true;
}

static const char adx_triangle_rule_name[] = "triangle";
static const adx_rule adx_triangle_rule = {
    adx_triangle_rule_name, adx_triangle_reverse, adx_triangle_forward, NULL
};

// Records the statement: the struct, then d, l and x, then the lists of ids.
// All three are saved, whichever are recorded.
static adx_triangle *adx_add_triangle(const adx_view *d, const adx_view *l,
                                      const adx_view *x)
{
    size_t n = x->cols;
    size_t below = l->cols;
    if (n == 0 || !adx_recording())
        return NULL;
    adx_ids di = adx_classify(d);
    adx_ids li = adx_classify(l);
    adx_ids xi = adx_classify(x);
    if ((adx_is_constant(&di) && adx_is_constant(&li) && adx_is_constant(&xi))
        || adx_now.tape->status != ADREV_OK)
        return NULL;
    size_t lists = (di.listed ? n : 0) + (li.listed ? below : 0)
                 + (xi.listed ? n : 0);
    adx_triangle *s = adx_add_extended(&adx_triangle_rule,
        sizeof *s + (2 * n + below) * sizeof(ad_real)
            + lists * sizeof(uint32_t), n, 2 * n + below);
    if (s == NULL)
        return NULL;

    s->n = n;
    s->d_ids = di;
    s->l_ids = li;
    s->x_ids = xi;
    s->d = (ad_real *)(s + 1);
    s->l = s->d + n;
    s->x = s->l + below;
    uint32_t *list = (uint32_t *)(void *)(s->x + n);
    list = adx_write_list(d, &s->d_ids, list);
    list = adx_write_list(l, &s->l_ids, list);
    adx_write_list(x, &s->x_ids, list);
    s->e.care = adx_pack_view(d, s->d) + adx_pack_view(l, s->l)
              + adx_pack_view(x, s->x) != 0;
    return s;
}

ADX_API void (ad_trimatvec)(size_t n, const ad_rev d[], const ad_rev l[],
                            const ad_rev x[], ad_rev y[])
{
    size_t below = n == 0 ? 0 : adx_size_times(n, n - 1) / 2;
    if (adx_missing(below, l) || adx_missing(n, x) || adx_missing(n, y))
        return;
    static const ad_real one = 1;
    const adx_view diagonal = d == NULL ? adx_constants(n, &one, 0)
                                        : adx_vector(n, d, 1);
    const adx_view lower = adx_vector(below, l, 1);
    const adx_view from = adx_vector(n, x, 1);
    const adx_triangle *s = adx_add_triangle(&diagonal, &lower, &from);

    adx_tell_array(ADREV_ARRAY_trimatvec, ADREV_OP_COUNT,
                   ADX_BASE(s), &diagonal, &lower, &from);
    ADX_TALLY(forward, add, s == NULL ? 0 : lower.cols);
    ADX_TALLY(forward, mul, s == NULL ? 0 : lower.cols + (d != NULL) * n);
    // the diagonal first, then column after column
    for (size_t i = 0; i < n; i++)
        adx_set_result(&y[i], adx_element(&diagonal, 0, i) * x[i].v,
                       ADX_BASE(s), i);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            y[j].v += (l++)->v * x[i].v;
}

/* === array/external =========================================================
 * Forms of the array statements without strides, and statements with a rule of
 * the user's own.
 *
 *   needs   number/recording tape/layout tape/memory sweep/sweep
 *           array/operands array/linear
 *   offers  adx_external adx_external_kind adx_add_external adx_always_status
 *           adx_record_external_as
 * ========================================================================== */

/* --- contiguous forms ---------------------------------------------------- */

ADX_API ad_rev (ad_sum)(size_t n, const ad_rev x[])
{
    return (ad_sum_s)(n, x, 1);
}

ADX_API ad_rev (ad_dot)(size_t n, const ad_rev x[], const ad_rev y[])
{
    return (ad_dot_s)(n, x, 1, y, 1);
}

ADX_API ad_rev (ad_dotc)(size_t n, const ad_rev x[], const ad_real c[])
{
    return (ad_dotc_s)(n, x, 1, c, 1);
}

ADX_API ad_rev (ad_norm2)(size_t n, const ad_rev x[])
{
    return (ad_norm2_s)(n, x, 1);
}

ADX_API ad_rev (ad_sqdist)(size_t n, const ad_rev x[], const ad_rev y[])
{
    return (ad_sqdist_s)(n, x, 1, y, 1);
}

ADX_API ad_rev (ad_logsumexp)(size_t n, const ad_rev x[])
{
    return (ad_logsumexp_s)(n, x, 1);
}

ADX_API void (ad_softmax)(size_t n, const ad_rev x[], ad_rev y[])
{
    (ad_softmax_s)(n, x, 1, y, 1);
}

ADX_API void (ad_axpy)(size_t n, ad_rev a, const ad_rev x[], ad_rev y[])
{
    (ad_axpy_s)(n, a, x, 1, y, 1);
}

ADX_API void (ad_scale)(size_t n, ad_rev a, const ad_rev x[], ad_rev y[])
{
    (ad_scale_s)(n, a, x, 1, y, 1);
}

ADX_API void (ad_each)(ad_opcode op, size_t n, const ad_rev a[],
                       const ad_rev b[], const ad_rev c[], ad_rev y[])
{
    (ad_each_s)(op, n, a, 1, b, 1, c, 1, y, 1);
}

ADX_API void (ad_matvec)(size_t m, size_t n, const ad_rev A[],
                         const ad_rev x[], ad_rev y[])
{
    (ad_matvec_s)(m, n, A, (ptrdiff_t)n, 1, x, 1, y, 1);
}

ADX_API void (ad_matmul)(size_t m, size_t k, size_t n, const ad_rev A[],
                         const ad_rev B[], ad_rev C[])
{
    (ad_matmul_s)(m, k, n, A, (ptrdiff_t)k, 1, B, (ptrdiff_t)n, 1, C,
                  (ptrdiff_t)n, 1);
}

/* --- external statements ------------------------------------------------- */

typedef struct adx_external {
    adx_extended e;
    const ad_external_rule *rule;
    const void *saved;          // the tape's copy
    adx_ids ids;                // of the inputs
    size_t m;                   // results, as the user counts them
    bool always;                // of the rule
} adx_external;

// Direction w of the operands' tangents, as an array for the user's function.
static void adx_gather_ids(const adx_external *s, const ad_real adj[],
                           size_t W, size_t w, ad_real x[])
{
    for (size_t i = 0; i < s->e.operands; i++)
        x[i] = adx_is_constant(&s->ids) ? 0
                                        : adj[adx_id(&s->ids, i) * W + w];
}

// Gathers the adjoints of the results in those directions in which any is not
// zero, or in all of them if the statement is swept always: a row of dy each,
// whose direction goes to `which`. Returns how many rows there are.
static size_t adx_gather_rows(const adx_external *s, const ad_real adj[],
                              size_t W, ad_real dy[], size_t which[])
{
    size_t k = 0;
    for (size_t w = 0; w < W; w++) {
        ad_real *row = dy + k * s->m;
        for (size_t i = 0; i < s->m; i++)
            row[i] = adj[(s->e.first + i) * W + w];
        if (s->always || !adx_zeros(s->m, row))
            which[k++] = w;
    }
    return k;
}

// Calls the user's rule for k directions.
static bool adx_pull_rows(const adx_external *s, size_t k, const ad_real dy[],
                          ad_real dx[])
{
    const ad_external_rule *rule = s->rule;
    size_t n = s->e.operands;
    if (k > 1 && rule->pullback_n != NULL)
        return rule->pullback_n(s->saved, k, s->m, dy, n, dx);
    for (size_t r = 0; r < k; r++)
        if (!rule->pullback(s->saved, s->m, dy + r * s->m, n, dx + r * n))
            return false;
    return true;
}

// With one direction the adjoints of the results are an array already. (bench:
// external, 0.94.)
static bool adx_external_reverse_1(const adx_external *s, ad_real adj[],
                                   ad_real dx[])
{
    const ad_real *dy = &adj[s->e.first];
    size_t n = s->e.operands;
    if (!s->always && adx_zeros(s->m, dy))
        return true;
    memset(dx, 0, n * sizeof *dx);
    if (!s->rule->pullback(s->saved, s->m, dy, n, dx))
        return false;
    for (size_t i = 0; !adx_is_constant(&s->ids) && i < n; i++)
        adj[adx_id(&s->ids, i)] += dx[i];
    return true;
}

// The arrays of the user's rule lie in the scratch room, first the operands'
// adjoints, then the results'.
static bool adx_external_reverse(const adx_extended *e, ad_real adj[],
                                 ad_real scratch[], size_t W)
{
    const adx_external *s = (const adx_external *)e;
    if (W == 1)
        return adx_external_reverse_1(s, adj, scratch);
    size_t n = e->operands;
    ad_real *dx = scratch;
    ad_real *dy = scratch + W * n;
    size_t which[ADX_WIDEST];
    size_t k = adx_gather_rows(s, adj, W, dy, which);

    memset(dx, 0, k * n * sizeof *dx);
    if (!adx_pull_rows(s, k, dy, dx))
        return false;
    for (size_t r = 0; !adx_is_constant(&s->ids) && r < k; r++)
        for (size_t i = 0; i < n; i++)
            adj[adx_id(&s->ids, i) * W + which[r]] += dx[r * n + i];
    return true;
}

// Calls the user's rule for k directions.
static bool adx_push_rows(const adx_external *s, size_t k, const ad_real dx[],
                          ad_real dy[])
{
    const ad_external_rule *rule = s->rule;
    size_t n = s->e.operands;
    if (rule->pushforward == NULL)
        return false;
    if (k > 1 && rule->pushforward_n != NULL)
        return rule->pushforward_n(s->saved, k, n, dx, s->m, dy);
    for (size_t r = 0; r < k; r++)
        if (!rule->pushforward(s->saved, n, dx + r * n, s->m, dy + r * s->m))
            return false;
    return true;
}

// The arrays lie in the scratch room as in reverse.
static bool adx_external_forward(const adx_extended *e, ad_real tan[],
                                 ad_real scratch[], size_t W)
{
    const adx_external *s = (const adx_external *)e;
    size_t n = e->operands;
    ad_real *dx = scratch;
    ad_real *dy = scratch + W * n;

    for (size_t w = 0; w < W; w++)
        adx_gather_ids(s, tan, W, w, dx + w * n);
    if (!adx_push_rows(s, W, dx, dy))
        return false;
    for (size_t w = 0; w < W; w++)
        for (size_t i = 0; i < s->m; i++)
            tan[(e->first + i) * W + w] += dy[w * s->m + i];
    return true;
}

static void adx_external_destroy(const adx_extended *e)
{
    const adx_external *s = (const adx_external *)e;
    s->rule->destroy(s->saved);
}

static const char adx_external_kind_name[] = "external";
static const adx_rule adx_external_kind = {
    adx_external_kind_name, adx_external_reverse, adx_external_forward,
    adx_external_destroy
};

// What the rule saves.
static char *adx_saved_room(adx_external *s)
{
    return (char *)s + (sizeof *s + 15) / 16 * 16;
}

// Room that a sweep has for the operands and results of a statement.
static void adx_set_scratch(ad_tape *t, size_t numbers)
{
    t->scratch = numbers;
    if (ADREV_FIXED)                // it is at the end of the same memory
        adx_settle(t, &adx_now);
}

// Adds the entry: the struct, then what the rule saves, aligned to 16 bytes,
// then the list of ids. It also makes sure that a sweep has scratch room for
// the operands and results. NULL: nothing is recorded. If there are no results,
// one value is made all the same, which nobody uses: the values say where on
// the tape a statement is.
static adx_external *adx_add_external(const adx_view *x, const adx_ids *ids,
                                      size_t bytes, size_t m)
{
    ad_tape *t = adx_now.tape;
    size_t n = x->cols;
    size_t before = t->scratch;
    size_t saved = (bytes + 15) / 16 * 16;

    adx_set_scratch(t, n + m > before ? n + m : before);
    adx_external *s = adx_add_extended(&adx_external_kind,
        16 + sizeof *s + saved + (ids->listed ? n * sizeof(uint32_t) : 0),
        m == 0 ? 1 : m, n);
    if (s == NULL) {
        adx_set_scratch(t, before);
        return NULL;
    }
    s->ids = *ids;
    s->m = m;
    s->always = false;
    char *room = adx_saved_room(s);
    s->saved = room;
    adx_write_list(x, &s->ids, (uint32_t *)(void *)(room + saved));
    return s;
}

// Whether a statement with `always` can be recorded on the current tape, if
// there is one. If not, the tape fails.
static ad_status adx_always_status(void)
{
    ad_tape *t = adx_now.tape;
    if (t != NULL && adx_is_observed(t))
        adx_fail_because(t, ADREV_EHOOK, "a recorded function cannot have a "
                         "statement that is to be swept always");
    else if (t != NULL && t->selective)
        adx_fail_because(t, ADREV_EHOOK, "the function of a map cannot have a "
                         "statement that is to be swept always");
    return t == NULL ? ADREV_OK : t->status;
}

// What stands in the way of an external statement; ADREV_OK also means that a
// tape, if there is one, records.
static ad_status adx_external_status(const ad_external_rule *rule, bool always,
                                     size_t m, bool missing)
{
    ad_tape *t = adx_now.tape;
    ad_status wrong = rule == NULL || rule->pullback == NULL ? ADREV_EEXTERNAL
                    : (m == 0 && !always) || missing ? ADREV_ESHAPE
                    : always ? adx_always_status() : ADREV_OK;
    if (t != NULL && wrong != ADREV_OK)
        adx_fail(t, wrong);
    if (wrong == ADREV_OK && t != NULL && adx_recording())
        return ADREV_OK;
    return wrong == ADREV_OK && t != NULL ? t->status : wrong;
}

// As adx_tell_array does, before the results are named. A hook that keeps the
// rule and its data sets *kept, and then destroys them itself.
static void adx_tell_external(const adx_external *s, const adx_view *from,
                              size_t bytes, bool *kept)
{
#if ADREV_FIXED
    (void)s; (void)from; (void)bytes; (void)kept;
#else
    if (!ADX_UNLIKELY(ADX_TRACED))
        return;
    const ad_hooks *hooks = &adx_now.tape->hooks;
    ad_array_operation told = adx_array_operation(ADREV_ARRAY_external, &s->e);
    told.arg[0] = adx_public_view(from);
    told.results = s->m;
    told.rule = s->rule;
    told.saved = s->saved;
    told.bytes = bytes;
    told.kept = kept;
    hooks->array(hooks->user, &told);
#endif
}

// Writes what the rule saves, and tells the hook. Then the statement joins the
// tape's chain of those that a clear or a rewind must destroy, unless a hook
// has taken that over.
static void adx_fill_external(adx_external *s, const ad_external_rule *rule,
                              bool always, const void *saved, size_t bytes,
                              const adx_view *from)
{
    ad_tape *t = adx_now.tape;
    bool kept = false;

    s->rule = rule;
    s->always = always;
    if (bytes > 0)
        memcpy(adx_saved_room(s), saved, bytes);
    adx_tell_external(s, from, bytes, &kept);
    t->calls = true;
    t->always |= always;
    t->one_way |= rule->pushforward == NULL;
    if (rule->destroy != NULL && !kept) {
        s->e.before = t->last;
        t->last = &s->e;
    }
}

// As ad_external, but whether the statement is swept always is not up to the
// rule. If nothing is recorded, the results are constants and the rule is
// destroyed at once.
static ad_status adx_record_external_as(const ad_external_rule *rule,
                                        bool always, const void *saved,
                                        size_t bytes, size_t n,
                                        const ad_rev x[], size_t m,
                                        const ad_real v[], ad_rev y[])
{
    bool missing = adx_no_array(n, x) || adx_no_array(m, v)
                || adx_no_array(m, y)
                || (bytes > 0 && saved == NULL) || bytes > SIZE_MAX / 8;
    ad_status status = adx_external_status(rule, always, m, missing);
    ad_tape *t = adx_now.tape;
    const adx_view from = adx_vector(n, x, 1);
    adx_external *s = NULL;

    if (status == ADREV_OK && t != NULL) {
        adx_ids ids = adx_classify(&from);
        if ((always || !adx_is_constant(&ids)) && t->status == ADREV_OK)
            s = adx_add_external(&from, &ids, bytes, m);
        status = t->status;
    }
    if (s != NULL)
        adx_fill_external(s, rule, always, saved, bytes, &from);
    for (size_t i = 0; !adx_no_array(m, y) && v != NULL && i < m; i++)
        adx_set_result(&y[i], v[i], ADX_BASE(s), i);
    if (s == NULL && rule != NULL && rule->destroy != NULL
        && (saved || bytes == 0))
        rule->destroy(saved);
    return s == NULL ? status : ADREV_OK;
}

ADX_API ad_status (ad_external)(const ad_external_rule *rule,
                                const void *saved, size_t bytes, size_t n,
                                const ad_rev x[], size_t m,
                                const ad_real v[], ad_rev y[])
{
    return adx_record_external_as(rule, rule != NULL && rule->always, saved,
                                  bytes, n, x, m, v, y);
}
#endif
/* === check/differences ======================================================
 * Finding mistakes. ad_check compares derivatives with differences for many
 * increments. It weighs what it sees against three sizes, so that it neither
 * misses mistakes nor raises false alarms: the spread of the extrapolated
 * differences, the rounding of f, and the sum of the absolute values of all
 * paths from x to y, which bounds the rounding of the gradient itself. The
 * other tools walk over the entries and skip kinds that they do not know.
 *
 *   needs   number/recording tape/layout tape/life sweep/session
 *   offers  ADX_NARROW ADX_EPSILON ADX_TIGHT ADX_ROWS ADX_PASSES adx_row
 *           ADX_CACHED adx_probe adx_finite adx_most adx_scale_of adx_restart
 *           adx_evaluate adx_add_row adx_allowed adx_has_converged adx_agrees
 *           adx_judge adx_judge_kink
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- differences ------------------------------------------------------------
 * A pass is a series of increments h, each a quarter of the one before, and a
 * row for each. Up to four passes differ in their first one. Increments are
 * powers of 2 in units of the scale of x. Slopes are taken along d, the
 * direction whose components are such scales, so all of them have the unit of
 * f.                                                                         */

#define ADX_NARROW  (sizeof(ad_real) == 4)
#define ADX_EPSILON (ADX_NARROW ? ADX_K(0x1p-23) : ADX_K(0x1p-52))
#define ADX_TIGHT   (ADX_NARROW ? ADX_K(0x1p-12) : ADX_K(0x1p-26))
#define ADX_LOOSE   (ADX_NARROW ? ADX_K(0x1p-6) : ADX_K(0x1p-10))
#define ADX_SAFETY  8           // of the error estimates
#define ADX_ROWS    11          // increments in a pass: 2^-3 to 2^-23
#define ADX_PASSES  4

typedef struct adx_row {
    ad_real h;
    ad_real left;               // slopes from x to x - h d, x + h d
    ad_real right;
    ad_real slope;              // central difference, extrapolated
    ad_real error;              // of `slope`; infinite: nothing is known
    ad_real noise;              // what the rounding of f does to a slope
} adx_row;

// The values of f at this many increments are cached for the other outputs:
// more than those of one pass.
#define ADX_CACHED (3 * (size_t)ADX_ROWS)

typedef struct adx_probe {
    ad_vector_fn *f;
    void *ctx;
    adx_session session;
    ad_mark mark;               // behind the recording of f
    const ad_real *x;
    size_t n, m;
    ad_rev *at;                 // [n] constants that f is given
    ad_rev *to;                 // [m] results of f
    ad_rev *out;                // [m] results as recorded
    ad_real *d;                 // [n] direction
    ad_real *J;                 // [m*n] gradients
    ad_real *slope;             // [m] forward, along d
    ad_real *cached;            // [ADX_CACHED*m] values; NULL if m is 1
    ad_real tried[ADX_CACHED];  // the increment of each of them
    size_t tries;
    size_t which;               // the output of the present check, and its
    const ad_real *g;           // [n] gradient
    ad_real y;                  // value
    uint32_t id;                // id; 0: a constant
    ad_real largest;            // |g d| of any input; |g| where d is below 1
    uint32_t in;                // id of the first input
    size_t first;               // inputs of the present check
    size_t count;
    size_t evaluations;
    ad_status status;
    ad_real unit;               // scale of the inputs, if below 1
    bool sure;                  // a row agrees to many digits
    ad_verdict kink;            // what the last pass says of a kink
    const adx_row *by;          // the row that decided
    size_t rows;
    adx_row row[ADX_ROWS * ADX_PASSES];
} adx_probe;

static bool adx_finite(ad_real x) { return x - x == 0; }

static ad_real adx_most(ad_real a, ad_real b)
{
    return a > b ? a : b;
}

// The power of 2 below |x|; 1 for 0.
static ad_real adx_scale_of(ad_real x)
{
    int e = 1;
    int least = ADX_NARROW ? -110 : -1000;
    if (x != 0 && adx_finite(x))
        (void)frexp((double)x, &e);
    return adm_ldexp(1, (e < least ? least : e) - 1);
}

// Forgets what f has recorded since its gradient was taken.
static void adx_restart(adx_probe *p)
{
    adx_session *s = &p->session;
    adx_return_to(s->tape, &p->mark);
    s->job = adx_new_job(s->tape);
    adx_begin_segment(s->tape, s->segment, &p->mark, s->job, true);
}

// Whether f has been called with that increment; if so, its values are in place
// i of the cache.
static bool adx_find_cached(const adx_probe *p, ad_real h, size_t *i)
{
    for (*i = 0; *i < p->tries; ++*i)
        if (p->tried[*i] == h)
            return true;
    return false;
}

static void adx_keep_values(adx_probe *p, ad_real h)
{
    if (p->cached == NULL || p->tries == ADX_CACHED)
        return;
    for (size_t i = 0; i < p->m; i++)
        p->cached[p->tries * p->m + i] = p->to[i].v;
    p->tried[p->tries++] = h;
}

// The output at hand of f at x + h d, from the cache if f has been called
// there. NaN if h is so small that a component does not move. f is given
// constants, and what it records nevertheless is thrown away.
static ad_real adx_evaluate(adx_probe *p, ad_real h)
{
    ad_tape *t = p->session.tape;
    bool moved = true;
    size_t i;

    if (adx_find_cached(p, h, &i))
        return p->cached[i * p->m + p->which];
    adx_unset(p->m, p->to);
    p->to[p->which].v = ADX_K(NAN);
    for (size_t j = p->first; j < p->first + p->count; j++) {
        p->at[j].v = p->x[j] + h * p->d[j];
        moved = moved && p->at[j].v != p->x[j];
    }
    if (moved && p->status == ADREV_OK) {
        p->f(p->at, p->to, p->ctx);
        ad_use(t);
        p->evaluations++;
        p->status = adx_alive(&p->session) ? t->status : ADREV_EMARK;
    }
    for (size_t j = p->first; j < p->first + p->count; j++)
        p->at[j] = adx_passive(p->x[j]);
    if (p->status == ADREV_OK)
        adx_restart(p);
    if (moved)
        adx_keep_values(p, h);
    return p->to[p->which].v;
}

// Adds the row of h. Its central difference extends the tableau T of
// Richardson's extrapolation, which holds the last row of k entries: the error
// of a central difference goes with h^2, so each column gains a factor of 16
// for a quarter of h. The slope of the row is the entry that differs least
// from its two neighbours, and that difference is its error (Ridders). Returns
// how many entries T has now.
static size_t adx_add_row(adx_probe *p, ad_real h, ad_real T[], size_t k)
{
    adx_row *r = &p->row[p->rows++];
    ad_real high = adx_evaluate(p, h);
    ad_real low = adx_evaluate(p, -h);
    ad_real size = adx_most(adm_fabs(high), adm_fabs(low));
    ad_real c = (high / 2 - low / 2) / h;
    ad_real power = 1;

    r->h = h;
    r->left = (p->y - low) / h;
    r->right = (high - p->y) / h;
    r->noise = 2 * ADX_EPSILON * adx_most(size, adm_fabs(p->y)) / h;
    r->slope = c;
    r->error = ADX_K(INFINITY);
    if (!adx_finite(c))
        return 0;
    for (size_t m = 0; m < k; m++) {
        ad_real before = T[m];
        power *= 16;
        ad_real next = c + (c - before) / (power - 1);
        ad_real error = adx_most(adm_fabs(next - c), adm_fabs(next - before));
        if (error < r->error) {
            r->error = error;
            r->slope = next;
        }
        T[m] = c;
        c = next;
    }
    T[k] = c;
    r->error += r->noise;
    return k + 1;
}

// How much a slope may differ from the derivative g: by the error of the
// differences, and by the rounding of g, which `paths` bounds.
static ad_real adx_allowed(const adx_row *r, ad_real g, ad_real paths)
{
    return ADX_SAFETY * r->error + 64 * ADX_EPSILON * paths
        + ADX_TIGHT * adx_most(adm_fabs(g), adm_fabs(r->slope));
}

// Whether a row says something, that is, whether its error is small beside the
// slope. Where the error is no more than the rounding of f would explain, a
// smaller demand is enough: it must be small beside other slopes here, beside
// the paths that cancel, or beside the largest slope along any input. Where
// there is no gradient at all, it may also be small beside f.
static bool adx_has_converged(const adx_probe *p, const adx_row *r, ad_real g,
                              ad_real paths, ad_real most)
{
    ad_real size = adm_fabs(r->slope);
    ad_real error = ADX_SAFETY * r->error;

    if (!adx_finite(error))             // as in the first row of a pass
        return false;
    if (r->error <= 256 * r->noise) {
        size = adx_most(adx_most(size, paths), adm_fabs(r[-1].left));
        size = adx_most(adx_most(size, p->largest * p->unit),
                        adm_fabs(r[-1].right));
    }
    if (g == 0)
        size = adx_most(size, adm_fabs(p->y) * p->unit);
    return error <= most * size;
}

static bool adx_agrees(const adx_probe *p, const adx_row *r, ad_real g,
                       ad_real paths)
{
    if (adm_fabs(r->slope - g) <= adx_allowed(r, g, paths))
        return true;
    // 1/x at 1e-200: the gradient overflows, and so does the difference.
    return p->count == 1 && !adx_finite(g)
        && r->slope / adm_fabs(p->d[p->first]) == p->g[p->first];
}

// Judges by the row with the least error among those that have converged. If g
// differs from it, there may still be another row that agrees with g and
// contradicts the best one by more than both errors. Then g is believed,
// because the best row can be perfectly steady and wrong: where two increments
// span whole periods of f, or rounding makes two values equal.
static ad_verdict adx_judge(adx_probe *p, ad_real g, ad_real paths)
{
    const adx_row *best = NULL;

    for (const adx_row *r = p->row; r < p->row + p->rows; r++) {
        if (r->error < p->by->error)
            p->by = r;
        if (adx_has_converged(p, r, g, paths, ADX_LOOSE)
            && (best == NULL || r->error < best->error))
            best = r;
    }
    if (best == NULL)
        return ADREV_NOISY;
    p->by = best;
    for (const adx_row *r = p->row; r < p->row + p->rows; r++) {
        ad_real apart = adm_fabs(r->slope - best->slope);
        if (adx_has_converged(p, r, g, paths, ADX_LOOSE)
            && adx_agrees(p, r, g, paths)
            && (r == best || apart > ADX_SAFETY * (r->error + best->error))) {
            p->by = r;
            return ADREV_AGREES;
        }
    }
    return ADREV_DISAGREES;
}

/* --- kinks --------------------------------------------------------------- */

static bool adx_is_between(ad_real x, ad_real low, ad_real high)
{
    return x >= low && x <= high;
}

// Whether f is bent at x. In a smooth function the difference between the
// slopes to the right and to the left shrinks with h, by 4 from row to row. So
// a and b, which divide this jump in one row by that in the next, are near 4
// there, near 1 at a kink, and near 1/4 where f itself jumps. If neither is
// near 4, there is a kink in two cases: the jump of the slope is larger than
// the errors; or f jumps, and by much of what it changes in the first row, not
// by a quantum of its rounding.
static bool adx_is_bent(const adx_row *first, const adx_row *r)
{
    ad_real jump = r[0].right - r[0].left;
    ad_real before = r[-1].right - r[-1].left;
    ad_real a = before / jump;
    ad_real b = (r[-2].right - r[-2].left) / before;
    ad_real error = r[0].error < r[-1].error ? r[0].error : r[-1].error;
    ad_real fifth = 1 / (ad_real)5;
    ad_real most = 5 / (ad_real)4;
    ad_real all = adx_most(adm_fabs(first->left), adm_fabs(first->right));

    if (!adx_is_between(a, fifth, most) || !adx_is_between(b, fifth, most))
        return false;
    return adm_fabs(jump) > 32 * error
        || (adx_most(a, b) < 1 / (ad_real)3
            && adm_fabs(jump) > 16384 * r->noise
            && adm_fabs(jump) * r->h > ADX_LOOSE * all * first->h);
}

// Whether a slope grows without bound as h shrinks.
static bool adx_steepens(ad_real before, ad_real now)
{
    return adm_fabs(now) > adm_fabs(before) * 5 / 4;
}

// f is finite on one side only. The gradient must be the limit of the slope
// there.
static ad_verdict adx_judge_edge(ad_real now, ad_real before, ad_real noise,
                                 ad_real g)
{
    ad_real change = now - before;
    if (!adx_finite(g))
        return adx_steepens(before, now) ? ADREV_KINK : ADREV_DISAGREES;
    return adm_fabs(now + change / 3 - g) <= 8 * adm_fabs(change) + 64 * noise
             + ADX_TIGHT * adm_fabs(now) ? ADREV_KINK : ADREV_DISAGREES;
}

// Whether the slopes to both sides differ by no more than noise.
static bool adx_is_straight(const adx_row *r)
{
    return adm_fabs(r->right - r->left) <= 64 * r->noise;
}

// What the last rows of a pass say of a kink at x. Rows at the end in which the
// two slopes differ by no more than noise are passed over. AGREES: there is no
// kink. KINK: there is one, and g fits it. NOISY: there is one, and g lies
// outside of the slopes to both sides. DISAGREES: f is finite on one side only,
// and g is not the limit there.
static ad_verdict adx_judge_kink(const adx_row *first, const adx_row *begin,
                                 const adx_row *end, ad_real g)
{
    const adx_row *r = end - 1;
    while (r - begin > 2 && adx_is_straight(r)
           && (adx_finite(r->left) || adx_finite(r->right)))
        r--;
    if (r - begin < 2)
        return ADREV_AGREES;
    if (adx_finite(r[0].right) && adx_finite(r[-1].right)
        && !adx_finite(r[0].left) && !adx_finite(r[-1].left))
        return adx_judge_edge(r[0].right, r[-1].right, r[0].noise, g);
    if (adx_finite(r[0].left) && adx_finite(r[-1].left)
        && !adx_finite(r[0].right) && !adx_finite(r[-1].right))
        return adx_judge_edge(r[0].left, r[-1].left, r[0].noise, g);
    if (!adx_finite(g) && g == g && adx_steepens(r[-1].right, r[0].right)
        && adx_steepens(r[-2].right, r[-1].right))
        return ADREV_KINK;
    if (adx_is_straight(r) || !adx_is_bent(first, r))
        return ADREV_AGREES;
    ad_real low = r->left < r->right ? r->left : r->right;
    ad_real high = adx_most(r->left, r->right);
    ad_real slack = ADX_LOOSE * (high - low);
    return adx_is_between(g, low - slack, high + slack) ? ADREV_KINK
                                                     : ADREV_NOISY;
}

ADX_SELDOM_END

/* === check/examine ==========================================================
 * ad_check and ad_check_jac: how one direction and one input are examined, and
 * the report. A check makes up to four passes of differences
 * (check/differences), whose increments begin with an eighth of |x| and end
 * where rounding is all that is left. It ends as soon as the gradient is
 * confirmed. Where it is not, the slopes to either side tell a kink, and the
 * errors of the differences tell noise, from a mistake.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/walk
 *           sweep/sweep sweep/session check/differences
 *   offers  adx_is_worse adx_array_of_reals
 * ========================================================================== */

/* --- one check ----------------------------------------------------------- */

ADX_SELDOM_BEGIN

// The first increment of a pass, in units of d. Pass 0 begins with an eighth of
// the size of x; pass 1 with an eighth, if x is smaller than 1; pass 2 with a
// much smaller one; pass 3 with a smaller one still, for an input that is 0. A
// result of 0 says that the pass is not needed.
static ad_real adx_first_increment(const adx_probe *p, int pass)
{
    const ad_real eighth = 1 / (ad_real)8;
    switch (pass) {
    case 0: return eighth;
    case 1: return p->unit < 1 ? eighth / p->unit : 0;
    case 2: return ADX_NARROW ? ADX_K(0x1p-12) : ADX_K(0x1p-23);
    default: return p->count > 1 || p->x[p->first] != 0 ? 0
                  : ADX_NARROW ? ADX_K(0x1p-30) : ADX_K(0x1p-43);
    }
}

// One pass of rows. It ends early only where the gradient is confirmed to many
// digits, which also undoes a kink that larger increments saw.
static ad_verdict adx_examine_pass(adx_probe *p, ad_real h, ad_real g,
                                   bool kinked)
{
    const adx_row *begin = p->row + p->rows;
    size_t rows = ADX_NARROW ? ADX_ROWS - 4 : ADX_ROWS;
    ad_real T[ADX_ROWS];

    for (size_t i = 0, k = 0; i < rows; i++, h /= 4) {
        k = adx_add_row(p, h, T, k);
        p->by = p->row + p->rows - 1;
        p->kink = adx_judge_kink(p->row, begin, p->by + 1, g);
        if (p->kink == ADREV_AGREES && k > 2 && adx_agrees(p, p->by, g, 0)
            && adx_has_converged(p, p->by, g, 0, ADX_TIGHT)) {
            p->sure = true;
            return ADREV_AGREES;
        }
    }
    return kinked || p->kink == ADREV_KINK ? ADREV_KINK : adx_judge(p, g, 0);
}

// Paths through an extended statement. All that is known of its partials is its
// forward sweep, so of the paths through it only the signed sum is to be had.
static bool adx_paths_through(ad_tape *t, const adx_operand *op,
                              ad_real size[])
{
    const adx_extended *e = (const adx_extended *)adx_payload(op);
    bool known = adx_forward_extended(t, NULL, op, size, 1);
    for (size_t i = 0; known && i < e->values; i++)
        size[e->first + i] = adm_fabs(size[e->first + i]);
    return known;
}

// The sum of the absolute values of all paths from the inputs of this check to
// y: a forward sweep with the absolute value of every partial. 0 if it is not
// known.
static ad_real adx_paths(const adx_probe *p)
{
    ad_tape *t = p->session.tape;
    size_t values = adx_live(t)->seq;
    ad_real *size = adx_adjoints(t, values, 1);

    if (size == NULL || p->id == 0)
        return 0;
    memset(size, 0, (values + 1) * sizeof *size);
    for (size_t j = p->first; j < p->first + p->count; j++)
        size[p->in + j] = adm_fabs(p->d[j]);
    adx_cursor at = adx_from(t, &p->session.mark);
    for (unsigned header; (header = adx_next_entry(t, &at)) != 0;) {
        if (header == ADX_EXTENDED && !adx_paths_through(t, at.op, size))
            return 0;
        if (header & ADX_OTHER)
            continue;
        ad_real sum = header & ADX_SUM ? size[at.seq - 1] : 0;
        for (size_t i = 0; i < at.operands; i++)
            sum += adx_absorb(adm_fabs(at.op[i].d), size[at.op[i].id]);
        size[at.seq] = sum;
    }
    return adx_finite(size[p->id]) ? size[p->id] : 0;
}

// Whether f does not change at any increment, but does at a much larger one.
// Rounding may then hide that it changes here, as in (x + 1e17) - 1e17.
static bool adx_absorbed(adx_probe *p)
{
    for (const adx_row *r = p->row; r < p->row + p->rows; r++)
        if (adm_fabs(r->left) > 0 || adm_fabs(r->right) > 0)
            return false;
    ad_real far = ADX_K(0x1p50);
    while (far > 1 && adx_evaluate(p, far) == p->y)
        far /= 16;
    return far > 1;
}

// Makes the components first .. first + count of d those of the next check.
// Returns the slope along them that the gradient gives.
static ad_real adx_take_inputs(adx_probe *p, size_t first, size_t count)
{
    static const adx_row nothing = {
        .slope = ADX_K(NAN), .left = ADX_K(NAN), .right = ADX_K(NAN),
        .error = ADX_K(INFINITY)
    };
    ad_real g = 0;

    // Cached values are of the same inputs only.
    if (p->first != first || p->count != count)
        p->tries = 0;
    p->first = first;
    p->count = count;
    p->rows = 0;
    p->by = &nothing;
    p->kink = ADREV_AGREES;
    p->sure = false;
    if (count == 1)
        p->d[first] = adm_fabs(p->d[first]);
    p->unit = 0;
    for (size_t j = first; j < first + count; j++) {
        p->unit = adx_most(p->unit, adm_fabs(p->d[j]));
        g += adx_absorb(p->g[j], p->d[j]);
    }
    p->unit = p->unit < 1 ? p->unit : 1;
    return g;
}

// Passes go on until one confirms the gradient. If pass 0 does, but not to many
// digits, and inputs are smaller than 1, the next pass has to confirm it as
// well. A kink that is seen only after a pass has confirmed the gradient is
// further away than x.
static ad_verdict adx_examine_passes(adx_probe *p, ad_real g)
{
    ad_verdict verdict = ADREV_NOISY;
    for (int pass = 0; pass < ADX_PASSES && adx_finite(p->y); pass++) {
        ad_real h = adx_first_increment(p, pass);
        ad_verdict before = verdict;
        const adx_row *by = p->by;
        if (h > 0)
            verdict = adx_examine_pass(p, h, g, before == ADREV_KINK
                                       && adx_finite(p->by->slope));
        if (before == ADREV_AGREES && verdict == ADREV_KINK) {
            verdict = before;           // a kink, but further away
            p->by = by;
        }
        if (verdict == ADREV_AGREES && (p->sure || pass > 0 || p->unit == 1))
            break;
    }
    return verdict;
}

// If no pass confirms the gradient or sees a kink, the paths are added up,
// which costs a walk over the tape, and all rows are judged again with the
// rounding that they allow.
static ad_verdict adx_examine_again(adx_probe *p, ad_real g,
                                    ad_verdict verdict, ad_real *paths)
{
    if (p->status == ADREV_OK && verdict != ADREV_AGREES
        && verdict != ADREV_KINK) {
        *paths = adx_paths(p);
        verdict = adx_judge(p, g, *paths);
        if (verdict == ADREV_NOISY)
            verdict = p->kink == ADREV_DISAGREES ? p->kink : ADREV_NOISY;
    }
    return verdict == ADREV_DISAGREES && adx_absorbed(p) ? ADREV_NOISY
                                                         : verdict;
}

// Checks the slope of the output at hand along the components first .. first +
// count of d.
static ad_check_entry adx_examine(adx_probe *p, size_t first, size_t count)
{
    ad_check_entry e = { .output = p->which, .index = first,
                         .inputs = count };
    ad_real paths = 0;
    ad_real g = adx_take_inputs(p, first, count);
    e.verdict = adx_examine_again(p, g, adx_examine_passes(p, g), &paths);

    // Of a single input the report shows derivatives, not slopes along d.
    ad_real unit = count == 1 ? p->d[first] : 1;
    e.gradient = count == 1 ? p->g[first] : g;
    e.difference = p->by->slope / unit;
    e.error = p->by->error / unit;
    e.left = p->by->left / unit;
    e.right = p->by->right / unit;
    e.mismatch = e.gradient == e.difference ? 0
               : adm_fabs(p->by->slope - g) / adx_allowed(p->by, g, paths);
    if (e.mismatch != e.mismatch)
        e.mismatch = e.verdict == ADREV_DISAGREES ? ADX_K(INFINITY) : 0;
    return e;
}

// Bisects a group of inputs that does not agree, down to one input if that does
// not agree by itself.
static ad_check_entry adx_bisect(adx_probe *p, ad_check_entry group)
{
    while (group.inputs > 1 && group.verdict != ADREV_AGREES
           && p->status == ADREV_OK) {
        size_t half = group.inputs / 2;
        ad_check_entry e = adx_examine(p, group.index, half);
        if (e.verdict == ADREV_AGREES)
            e = adx_examine(p, group.index + half, group.inputs - half);
        if (e.verdict == ADREV_AGREES)
            break;
        group = e;
    }
    return group;
}

/* --- ad_check ------------------------------------------------------------ */

// Whether an entry is to be shown before another: the order is disagrees, kink,
// noisy, agrees, and of two alike the larger mismatch comes first.
static bool adx_is_worse(const ad_check_entry *e, const ad_check_entry *than)
{
    static const int rank[ADREV_VERDICT_COUNT] = { 0, 3, 2, 1 };
    int worse = rank[e->verdict] - rank[than->verdict];
    return worse > 0 || (worse == 0 && e->mismatch > than->mismatch);
}

// Enters a check in the report. If there is not room for all checks, those that
// agree are only counted.
static void adx_enter_check(ad_check_report *report, size_t n,
                            const ad_check_entry *e)
{
    bool all = report->room >= n;

    report->counts[e->verdict]++;
    if (report->checks++ == 0 || adx_is_worse(e, &report->worst))
        report->worst = *e;
    if (report->entry != NULL && report->listed < report->room
        && (all || e->verdict != ADREV_AGREES))
        report->entry[report->listed++] = *e;
}

// Makes one output the output at hand.
static void adx_take_output(adx_probe *p, size_t which)
{
    p->which = which;
    p->g = p->J + which * p->n;
    p->y = p->out[which].v;
    p->id = p->out[which].job == 0 ? 0 : p->out[which].seq;
}

// The dot-product test of an output: its tangent along d from a forward sweep
// must be its gradient times d. `gap` is the difference in units of what
// rounding allows, and the report keeps the largest.
static void adx_compare_sweeps(adx_probe *p, ad_real forward,
                               ad_check_report *report)
{
    ad_real reverse = 0;
    for (size_t j = 0; j < p->n; j++)
        reverse += adx_absorb(p->g[j], p->d[j]);
    p->first = 0;
    p->count = p->n;
    ad_real values = adm_sqrt((ad_real)(adx_live(p->session.tape)->seq
                                        - p->in));
    ad_real off = adm_fabs(forward - reverse);
    ad_real allowed = ADX_EPSILON * (64 + values) * adx_paths(p);
    bool nan = forward != forward && reverse != reverse;
    ad_real gap = off == 0 || nan || forward == reverse ? 0 : off / allowed;
    if (gap != gap)
        gap = ADX_K(INFINITY);
    if (p->which > 0 && !(gap > report->gap))
        return;
    report->forward = forward;
    report->reverse = reverse;
    report->gap = gap;
}

// The gradients of all outputs, each by a reverse sweep, because a forward
// sweep would not see a mistake in a pullback. Then one forward sweep to
// compare them with.
static ad_status adx_sweep_outputs(adx_probe *p, ad_check_report *report)
{
    ad_tape *t = p->session.tape;
    ad_status status = ADREV_OK;
    bool active = false;

    for (size_t i = 0; i < p->m && status == ADREV_OK; i++) {
        ad_real *g = p->J + i * p->n;
        for (size_t j = 0; j < p->n; j++)
            g[j] = 0;
        if (p->out[i].job != 0)
            status = ad_gradient(t, p->out[i], p->n, p->at, g);
        active = active || p->out[i].job != 0;
    }
    if (status == ADREV_OK && active && !t->one_way) {
        status = ad_pushforward(t, p->n, p->at, p->d, p->m, p->out, p->slope);
        for (size_t i = 0; status == ADREV_OK && i < p->m; i++) {
            adx_take_output(p, i);
            adx_compare_sweeps(p, p->slope[i], report);
        }
    }
    return status;
}

// Records f, chooses the direction d with signs at random, and takes the
// gradients.
static ad_status adx_differentiate(adx_probe *p, ad_check_report *report)
{
    static const ad_mark whole = {0};
    ad_tape *t = p->session.tape;
    uint32_t random = 1;

    (ad_inputs)(p->n, p->x, p->at);
    p->in = p->at[0].seq;
    bool alone = t->alone;
    t->alone = true;            // its paths are walked, on this tape
    adx_unset(p->m, p->out);
    p->f(p->at, p->out, p->ctx);
    t->alone = alone;
    ad_use(t);
    if (!adx_alive(&p->session))
        return ADREV_EMARK;
    for (size_t i = 0; i < p->m; i++)
        p->out[i] = adx_on_tape(t, p->out[i]);
    if (t->status != ADREV_OK)
        return t->status;
    if (!adx_is_closed_off(p->m, p->out))
        return ADREV_EBEYOND;
    if (!adx_all_set(p->m, p->out))
        return ADREV_ESHAPE;
    for (size_t j = 0; j < p->n; j++) {
        random = random * 1664525u + 1013904223u;
        p->d[j] = adx_scale_of(p->x[j]) * (random >> 31 ? 1 : -1);
    }
    t->floor = p->session.mark;
    ad_status status = adx_sweep_outputs(p, report);
    t->floor = whole;
    return status;
}

// Checks the output at hand along `count` inputs from j on.
static void adx_check_output(adx_probe *p, size_t j, size_t count,
                             ad_check_report *report)
{
    p->largest = 0;
    for (size_t i = 0; i < p->n; i++) {
        ad_real slope = adm_fabs(p->g[i]) * adx_most(1, adm_fabs(p->d[i]));
        p->largest = adx_finite(slope) ? adx_most(slope, p->largest)
                                       : p->largest;
    }
    ad_check_entry e = adx_bisect(p, adx_examine(p, j, count));
    if (p->status == ADREV_OK)
        adx_enter_check(report, p->m * p->n, &e);
}

// Runs all checks once f is recorded. With more inputs than checks,
// neighbouring inputs form groups of nearly the same size. For each group all
// outputs are checked in turn, so that values of f in the cache serve all of
// them.
static void adx_compare(adx_probe *p, ad_check_report *report)
{
    size_t limit = report->limit == 0 ? 1000 : report->limit;
    size_t checks = p->n < limit ? p->n : limit;

    p->mark = ad_tape_mark(p->session.tape);
    adx_restart(p);
    for (size_t j = 0; j < p->n; j++)
        p->at[j] = adx_passive(p->x[j]);
    for (size_t i = 0, j = 0; i < checks && p->status == ADREV_OK; i++) {
        size_t count = p->n / checks + (i < p->n % checks);
        for (size_t k = 0; k < p->m && p->status == ADREV_OK; k++) {
            adx_take_output(p, k);
            adx_check_output(p, j, count, report);
        }
        j += count;
    }
}

static ad_real *adx_array_of_reals(adx_session *s, size_t n)
{
    return (ad_real *)adx_array(s, n / (sizeof(ad_rev) / sizeof(ad_real)) + 1);
}

// Takes the memory of a check from the session. False: the tape's status says
// why.
static bool adx_take_check_memory(adx_probe *p)
{
    adx_session *s = &p->session;
    size_t m = p->m;
    if (adx_size_times(m, p->n) == SIZE_MAX
        || adx_size_times(m, ADX_CACHED) == SIZE_MAX) {
        adx_fail(s->tape, ADREV_ELIMIT);
        return false;
    }
    return (p->at = adx_array_closed_off(s, p->n)) != NULL
        && (p->to = adx_array_closed_off(s, m)) != NULL
        && (p->out = adx_array_closed_off(s, m)) != NULL
        && (p->d = adx_array_of_reals(s, p->n)) != NULL
        && (p->J = adx_array_of_reals(s, m * p->n)) != NULL
        && (p->slope = adx_array_of_reals(s, m)) != NULL
        && (m == 1
            || (p->cached = adx_array_of_reals(s, ADX_CACHED * m)) != NULL);
}

// Works in a session of its own, which leaves the tape as it was, and fills
// *report only if all of it went well.
ADX_API ad_status ad_check_jac(ad_vector_fn *f, void *ctx, size_t n,
                               const ad_real x[], size_t m,
                               ad_check_report *report)
{
    adx_probe p = { .f = f, .ctx = ctx, .x = x, .n = n, .m = m };
    if (report == NULL)
        return ADREV_ESHAPE;
    report->filled = false;
    if (f == NULL || adx_no_array(n, x))
        return ADREV_ESHAPE;
    ad_status status = adx_open_session(&p.session);
    if (status != ADREV_OK)
        return status;

    ad_check_report r = { .entry = report->entry, .room = report->room,
                          .limit = report->limit, .filled = true,
                          .outputs = m };
    bool any = n > 0 && m > 0;
    if (any && adx_take_check_memory(&p)) {
        p.status = adx_differentiate(&p, &r);
        if (p.status == ADREV_OK)
            adx_compare(&p, &r);
        r.value = p.out[r.worst.output].v;
    }
    r.evaluations = p.evaluations + any;
    status = adx_close_session(&p.session, p.status);
    if (status == ADREV_OK)
        *report = r;
    return status;
}

// A function with one result, as ad_check_jac wants it.
typedef struct adx_scalar {
    ad_scalar_fn *f;
    void *ctx;
} adx_scalar;

static void adx_as_row(const ad_rev *x, ad_rev *y, void *ctx)
{
    const adx_scalar *of = (const adx_scalar *)ctx;
    y[0] = of->f(x, of->ctx);
}

ADX_API ad_status ad_check(ad_scalar_fn *f, void *ctx, size_t n,
                           const ad_real x[], ad_check_report *report)
{
    adx_scalar one = { f, ctx };
    return ad_check_jac(f == NULL ? NULL : adx_as_row, &one, n, x, 1, report);
}

ADX_API bool ad_check_passed(const ad_check_report *report)
{
    return report != NULL && report->filled && report->gap <= 1
        && report->counts[ADREV_AGREES] == report->checks;
}

ADX_SELDOM_END

/* === check/explain ==========================================================
 * Which values are not finite, where a number comes from, and what a region
 * holds.
 *
 *   needs   number/recording tape/layout tape/entries tape/hooks tape/walk
 *           sweep/sweep sweep/queries check/differences
 *   offers  adx_next_with adx_use_of adx_uses ADX_BEGIN adx_edge_of_region
 * ========================================================================== */

/* --- statements, and what is not finite ---------------------------------- */

ADX_SELDOM_BEGIN

static ad_rev adx_value(const ad_tape *t, size_t seq)
{
    ad_rev x = { 0, (uint32_t)seq, 0 };
    x.job = seq == 0 ? 0 : adx_segment_of(t, seq)->job;
    return x;
}

// Goes to the next entry that is not a site, and copies the site that belongs
// to it, if any, to *site.
static unsigned adx_next_with(const ad_tape *t, adx_cursor *at,
                              adx_site *site)
{
    unsigned header = adx_next_entry(t, at);
    memset(site, 0, sizeof *site);
    if (header == ADX_SITE) {
        memcpy(site, at->op, sizeof *site);
        header = adx_next_entry(t, at);
    }
    return header;
}

// Operand i of the statement at the cursor. The implied operand of a running
// sum counts as the first.
static adx_operand adx_use_of(const adx_cursor *at, unsigned header, size_t i)
{
    adx_operand implied = { 1, (uint32_t)(at->seq - 1) };
    if (!(header & ADX_SUM))
        return at->op[i];
    return i == 0 ? implied : at->op[i - 1];
}

static size_t adx_uses(const adx_cursor *at, unsigned header)
{
    return at->operands + (header & ADX_SUM ? 1 : 0);
}

// The statement at the cursor as users see it. Only its first operands are
// listed.
static ad_statement adx_statement(const ad_tape *t, const adx_cursor *at,
                                  unsigned header, const adx_site *site)
{
    ad_statement s = { .result = adx_value(t, at->seq),
                       .operands = adx_uses(at, header),
                       .file = site->file, .line = site->line };

    s.result.v = site->value;
    for (size_t i = 0; i < s.operands && i < ADREV_SHOWN; i++) {
        adx_operand use = adx_use_of(at, header, i);
        s.operand[i] = adx_value(t, use.id);
        s.partial[i] = use.d;
    }
    return s;
}

static bool adx_all_finite(const adx_cursor *at)
{
    for (size_t i = 0; i < at->operands; i++)
        if (!adx_finite(at->op[i].d))
            return false;
    return true;
}

// Whether other tapes have parts of the recording.
static bool adx_scattered(const ad_tape *t)
{
    for (size_t i = 0; adx_annexed_tape(t, i) != NULL; i++)
        if (adx_live(adx_annexed_tape(t, i))->seq > 0)
            return true;
    return false;
}

// Runs a reverse sweep from y that leaves the adjoints of all values in place.
// A recording that other tapes have parts of is refused.
static ad_status adx_swept(ad_tape *t, ad_rev y, ad_real **adj)
{
    if (adx_scattered(t))
        return ADREV_EFOREIGN;
    *adj = adx_cleared(t, 1, 0);
    if (*adj == NULL)
        return ADREV_ENOMEM;
    if (y.job != 0)
        (*adj)[y.seq] = 1;
    return adx_sweep(t, adx_reverse_1, *adj) ? ADREV_OK : ADREV_EEXTERNAL;
}

// What ad_find_nonfinite looks at in a statement, for an extended statement,
// whose operands cannot be listed.
static void adx_nonfinite_in(const ad_tape *t, const adx_cursor *at,
                             const ad_real adj[], const adx_site *site,
                             ad_nonfinite *seen)
{
    const adx_extended *e = (const adx_extended *)adx_payload(at->op);
    ad_statement s = { .result = adx_value(t, e->first), .file = site->file,
                       .line = site->line };
    s.result.v = site->value;
    s.adjoint = adj[e->first];
    if (seen->value.result.job == 0 && !adx_finite(site->value))
        seen->value = s;
    if (seen->partial.result.job == 0 && e->care)
        seen->partial = s;
    for (size_t i = 0; i < e->values; i++)
        if (!adx_finite(adj[e->first + i])) {
            s.result.seq = (uint32_t)(e->first + i);
            s.adjoint = adj[e->first + i];
            seen->adjoint = s;
        }
}

// One reverse sweep, then a walk forwards over all entries. Of values and
// partials the first that is not finite is kept, since the others may follow
// from it. Of adjoints it is the last, since the sweep came to that one first.
ADX_API ad_status ad_find_nonfinite(ad_tape *t, ad_rev y, ad_nonfinite *found)
{
    ad_status status = ad_tape_status(t);
    ad_nonfinite seen = {0};
    ad_real *adj = NULL;
    bool run = false;
    adx_site site;

    if (status == ADREV_OK && y.job != 0)
        status = adx_check_query(t, 1, &y, 0, NULL, found == NULL, &run);
    if (status == ADREV_OK && found == NULL)
        status = ADREV_ESHAPE;
    if (status == ADREV_OK)
        status = adx_swept(t, y, &adj);
    if (status != ADREV_OK)
        return status;

    adx_cursor at = { .seq = t->lead };
    for (unsigned header; (header = adx_next_with(t, &at, &site)) != 0;) {
        if (header == ADX_EXTENDED)
            adx_nonfinite_in(t, &at, adj, &site, &seen);
        if (header & ADX_OTHER)
            continue;
        ad_statement s = adx_statement(t, &at, header, &site);
        s.adjoint = adj[at.seq];
        if (seen.value.result.job == 0 && !adx_finite(site.value))
            seen.value = s;
        if (seen.partial.result.job == 0 && !adx_all_finite(&at))
            seen.partial = s;
        if (!adx_finite(s.adjoint))
            seen.adjoint = s;
    }
    *found = seen;
    return ADREV_OK;
}

/* --- ad_explain ---------------------------------------------------------- */

// Inserts a term in the list, the largest first and of equals the earlier. What
// does not fit drops off the end, but is counted.
static void adx_insert(ad_explanation *sum, size_t room, ad_term term[],
                       ad_term new)
{
    ad_real size = adm_fabs(new.product);
    size_t i = sum->listed;

    while (i > 0 && !(adm_fabs(term[i - 1].product) >= size)) {
        if (i < room)
            term[i] = term[i - 1];
        i--;
    }
    if (i < room)
        term[i] = new;
    sum->listed += sum->listed < room;
    sum->terms++;
    sum->size += size;
}

// Adds the one term of an extended statement: what its reverse sweep adds to
// the adjoint of x. That sweep runs again here and changes the adjoints of its
// other operands too. These lie below the statement, where the walk has been
// already, so nobody reads them any more.
static void adx_term_of(ad_tape *t, const adx_cursor *at, ad_real adj[],
                        ad_rev x, const adx_site *site, ad_explanation *sum,
                        size_t room, ad_term term[])
{
    const adx_extended *e = (const adx_extended *)adx_payload(at->op);
    if (e->first <= x.seq)
        return;
    ad_real whole = adj[x.seq];
    adj[x.seq] = 0;
    ad_real product = adx_reverse_extended(t, NULL, at->op, adj, 1)
                    ? adj[x.seq] : 0;
    adj[x.seq] = whole;
    ad_real adjoint = e->values == 1 ? adj[e->first] : 1;
    ad_term new = { adx_value(t, e->first), product / adjoint, adjoint,
                    product, site->file, site->line };
    if (product != 0)
        adx_insert(sum, room, term, new);
}

// After a reverse sweep from y, a walk over all entries collects the uses of x.
// Each use is a term, its partial times the adjoint of the statement, and dy/dx
// is the sum of all terms.
ADX_API ad_status ad_explain(ad_tape *t, ad_rev y, ad_rev x, size_t room,
                             ad_term term[], ad_explanation *sum)
{
    bool missing = sum == NULL || (room > 0 && term == NULL);
    bool run = false;
    ad_status status = adx_check_query(t, 1, &y, 1, &x, missing, &run);
    ad_explanation all = {0};
    ad_real *adj = NULL;
    adx_site site;

    if (status == ADREV_OK)
        status = adx_swept(t, y, &adj);
    if (status != ADREV_OK)
        return status;

    adx_cursor at = { .seq = t->lead };
    for (unsigned header; (header = adx_next_with(t, &at, &site)) != 0;) {
        if (header == ADX_EXTENDED)
            adx_term_of(t, &at, adj, x, &site, &all, room, term);
        for (size_t i = 0; !(header & ADX_OTHER) && i < adx_uses(&at, header);
             i++) {
            adx_operand use = adx_use_of(&at, header, i);
            ad_term new = { adx_value(t, at.seq), use.d, adj[at.seq],
                            adx_absorb(use.d, adj[at.seq]), site.file,
                            site.line };
            if (use.id == x.seq && new.adjoint != 0)
                adx_insert(&all, room, term, new);
        }
    }
    all.derivative = adj[x.seq];
    all.size += x.seq == y.seq;         // dy/dy
    all.condition = all.size == 0 ? 1 : all.size / adm_fabs(all.derivative);
    *sum = all;
    return ADREV_OK;
}

/* --- regions ----------------------------------------------------------------
 * A region's edge is an entry of data. Its first partial, which is 0 in other
 * entries of data, says which edge; behind it lies the name.                 */

#define ADX_BEGIN 1
#define ADX_END   2

static void adx_note_region(const char *name, int edge)
{
    size_t operands = 2 + (sizeof name - 1) / sizeof(adx_operand);
    adx_operand *op = NULL;

    if (adx_now.tape != NULL)
        op = adx_entry(&adx_now, ADX_DATA, operands + 1, 0);
    if (op == NULL)
        return;
    memset(op, 0, (operands + 1) * sizeof *op);
    op[0].d = (ad_real)edge;
    op[0].id = (uint32_t)operands + 1;
    op[operands].id = (uint32_t)operands + 1;
    memcpy(op + 1, &name, sizeof name);
}

ADX_API void ad_region_begin(const char *name)
{
    adx_note_region(name, ADX_BEGIN);
}

ADX_API void ad_region_end(const char *name)
{
    adx_note_region(name, ADX_END);
}

// Which edge of a region an entry is: ADX_BEGIN, ADX_END, or 0 for an entry of
// another kind.
static int adx_edge_of_region(const adx_cursor *at, unsigned header,
                              const char **name)
{
    if (header != ADX_DATA || at->op->d == 0)
        return 0;
    memcpy(name, at->op + 1, sizeof *name);
    *name = *name == NULL ? "" : *name;
    return at->op->d == ADX_BEGIN ? ADX_BEGIN : ADX_END;
}

// Begins or ends a region of that name among the n that are listed, which is
// listed now if it was not. Regions of one name may nest, so each counts how
// often it is open. Returns how many are listed then.
static size_t adx_cross(ad_region region[], size_t n, size_t room,
                        const char *name, int edge)
{
    static const ad_region none = {0};
    size_t i = 0;

    while (i < n && strcmp(region[i].name, name) != 0)
        i++;
    if (i == n && (i == room || edge == ADX_END))
        return n;
    if (i == n) {
        region[n] = none;
        region[n++].name = name;
    }
    region[i].entered += edge == ADX_BEGIN && region[i].adx_open == 0;
    if (edge == ADX_BEGIN)
        region[i].adx_open++;
    else if (region[i].adx_open > 0)
        region[i].adx_open--;
    return n;
}

// Every entry counts for all regions that are open where it stands.
ADX_API size_t ad_tape_regions(const ad_tape *t, size_t room,
                               ad_region region[])
{
    size_t n = 0;
    if (t == NULL || region == NULL)
        return 0;

    adx_cursor at = { .seq = t->lead };
    size_t before = at.seq;
    for (unsigned header; (header = adx_next_entry(t, &at)) != 0;
         before = at.seq) {
        const char *name;
        int edge = adx_edge_of_region(&at, header, &name);
        bool statement = !(header & ADX_OTHER);
        for (size_t i = 0; edge == 0 && i < n; i++)
            if (region[i].adx_open > 0) {
                region[i].statements += statement;
                region[i].operands += statement ? at.operands : 0;
                region[i].values += at.seq - before;
                region[i].bytes += at.operands * sizeof(adx_operand)
                                 + sizeof(uint16_t)
                                 + (at.seq - before) * sizeof(ad_real);
            }
        if (edge != 0)
            n = adx_cross(region, n, room, name, edge);
    }
    return n;
}

ADX_SELDOM_END

/* === check/tie ==============================================================
 * Whether two numbers that are equal are so at all points nearby, too. The
 * difference of the two is swept backwards, and only as far as a derivative is
 * left: the sums of the chain rule that are not yet handed on stand in a short
 * list, ordered by id. Of copies nothing is left at the beginning; of a maximum
 * and the number that it is, at its statement. Whatever is not followed counts
 * as many inputs.
 *
 *   needs   number/recording tape/layout tape/hooks tape/walk
 *           check/differences
 * ========================================================================== */

ADX_SELDOM_BEGIN

enum { ADX_TIE_ROOM = 32, ADX_TIE_MANY = 2 };

#define ADX_TIE_STEPS 1000000   // entries that are gone through, at most

// A sum of the chain rule, and that of the absolute values of its terms.
typedef struct adx_tied {
    uint32_t id;
    ad_real a;
    ad_real size;
} adx_tied;

// The lowest id first.
typedef struct adx_tie {
    adx_tied of[ADX_TIE_ROOM];
    size_t n;
    int inputs;                 // that have a derivative; 2: or more
} adx_tie;

// Adds a to the adjoint of a value.
static void adx_tie_add(adx_tie *tie, uint32_t id, ad_real a)
{
    size_t at = tie->n;
    while (at > 0 && tie->of[at - 1].id > id)
        at--;
    if (id == 0 || a == 0)
        return;
    if (at > 0 && tie->of[at - 1].id == id) {
        tie->of[at - 1].a += a;
        tie->of[at - 1].size += adm_fabs(a);
    } else if (tie->n == ADX_TIE_ROOM) {
        tie->inputs = ADX_TIE_MANY;
    } else {
        for (size_t i = tie->n++; i > at; i--)
            tie->of[i] = tie->of[i - 1];
        tie->of[at] = (adx_tied){ id, a, adm_fabs(a) };
    }
}

// Drops what has the highest ids, as long as it is 0 but for rounding.
static void adx_tie_trim(adx_tie *tie)
{
    for (; tie->n > 0; tie->n--) {
        const adx_tied *last = &tie->of[tie->n - 1];
        if (!(last->size - last->size == 0
              && adm_fabs(last->a) <= 16 * ADX_EPSILON * last->size))
            return;
    }
}

// Takes the highest id, which is that of an input. `lone`: no input stands for
// numbers of another recording, or of a function that is being recorded, whose
// operations leave no statements.
static void adx_tie_input(adx_tie *tie, bool lone)
{
    tie->n--;
    tie->inputs += lone ? 1 : ADX_TIE_MANY;
}

// Takes the highest id, which is that of the value of a statement.
static void adx_tie_statement(adx_tie *tie, unsigned header,
                              const adx_operand *op, size_t n)
{
    const adx_tied y = tie->of[--tie->n];
    if (header & ADX_SUM)
        adx_tie_add(tie, y.id - 1, y.a);
    for (size_t i = 0; i < n; i++)
        adx_tie_add(tie, op[i].id, adx_absorb(op[i].d, y.a));
}

// One entry, whose values are those above `before`.
static void adx_tie_entry(adx_tie *tie, unsigned header, const adx_operand *op,
                          size_t n, size_t before, bool lone)
{
    for (; tie->n > 0 && tie->of[tie->n - 1].id > before; adx_tie_trim(tie))
        if (header == ADX_INPUTS)
            adx_tie_input(tie, lone);
        else if (header & ADX_OTHER) {
            tie->inputs = ADX_TIE_MANY;
            return;
        } else
            adx_tie_statement(tie, header, op, n);
}

// Goes back until nothing is left, or only inputs at the start.
static void adx_tie_walk(const ad_tape *t, adx_tie *tie, bool lone)
{
    const adx_context *now = adx_live(t);
    size_t seq = now->seq;
    size_t steps = 0;
    adx_tie_trim(tie);
    for (const adx_block *b = t->block; b != NULL; b = b->prev) {
        const adx_operand *op = b == t->block ? now->op : b->op;
        const uint16_t *head = b == t->block ? now->head : b->head;
        for (; head != adx_top_of_block(b); head++) {
            if (tie->n == 0 || tie->inputs >= ADX_TIE_MANY
                || tie->of[tie->n - 1].id <= t->lead)
                return;
            if (*head == ADX_LEAP || ++steps > ADX_TIE_STEPS) {
                tie->inputs = ADX_TIE_MANY;
                return;
            }
            size_t n = adx_operands(*head, op - 1);
            op -= n;
            seq -= adx_values(*head, op);
            adx_tie_entry(tie, *head, op, n, seq, lone);
        }
    }
}

ADX_API int ad_tie(ad_rev x, ad_rev y)
{
    const ad_tape *t = adx_now.tape;
    adx_tie tie = { .n = 0 };
    if (x.job == y.job && (x.job == 0 || x.seq == y.seq))
        return 0;
    if (t == NULL || t->status != ADREV_OK
        || (x.job != 0 && !adx_member(t, x))
        || (y.job != 0 && !adx_member(t, y)))
        return ADX_TIE_MANY;
    bool lone = adx_annex_of(t) == NULL;
#if !ADREV_FIXED
    lone = lone && t->hooks.foreign == NULL && !adx_is_unswept(t);
#endif
    adx_tie_add(&tie, x.job == 0 ? 0 : x.seq, 1);
    adx_tie_add(&tie, y.job == 0 ? 0 : y.seq, -1);
    adx_tie_walk(t, &tie, lone);
    for (; tie.n > 0 && tie.inputs < ADX_TIE_MANY; adx_tie_trim(&tie))
        adx_tie_input(&tie, lone);
    return tie.inputs < ADX_TIE_MANY ? tie.inputs : ADX_TIE_MANY;
}

#undef ADX_TIE_STEPS

ADX_SELDOM_END

/* === check/print ============================================================
 * Dumps of a recording, and the report of ad_check in words.
 *
 *   needs   number/recording tape/layout tape/memory tape/walk check/examine
 *           check/explain
 *   offers  adx_writer adx_print
 * ========================================================================== */

/* --- dumps --------------------------------------------------------------- */

ADX_SELDOM_BEGIN

typedef struct adx_writer {
    ad_write_fn *write;
    void *user;
} adx_writer;

// Writes |x| as %.9g does, though the last digit may be off by one. Returns the
// end.
//
// The number is scaled to an integer of nine digits. Its exponent comes from
// log10, which may be off by one, and is put right if the integer has ten
// digits or eight. Below 1e-200 the scaling is done in two factors, since one
// would overflow. Zeros behind the point are dropped, and the digits are
// written from the last to the first.
static char *adx_digits(char *p, double x)
{
    double a = fabs(x);
    int e = a > 0 ? (int)floor(log10(a)) : 0;
    double whole = e < -200 ? a * 1e200 * pow(10, -192 - e)
                            : a * pow(10, 8 - e);

    e += whole >= 999999999.5 ? 1 : whole < 99999999.5 && a > 0 ? -1 : 0;
    whole = e < -200 ? a * 1e200 * pow(10, -192 - e) : a * pow(10, 8 - e);
    unsigned long long n = (unsigned long long)floor(whole + 0.5);
    // now the number is n * 10^(e - 8), and digit 0 is the first of n
    bool plain = e >= -5 && e < 9;
    int point = plain ? e : 0;          // the digit that it stands behind
    int i = 8;
    for (; i > 0 && i > point && n % 10 == 0; i--)
        n /= 10;
    // A number below 1 begins with zeros: when n is used up, its digits are 0.
    char *end = p + (point < 0 ? i - point : i) + (i > point);
    for (char *q = end; q >= p; i--, n /= 10) {
        *q-- = (char)('0' + n % 10);
        if (i == point + 1)
            *q-- = '.';
    }
    p = end + 1;
    if (plain)
        return p;
    *p++ = 'e';
    *p++ = e < 0 ? '-' : '+';
    e = e < 0 ? -e : e;
    *p++ = (char)('0' + e / 100);
    *p++ = (char)('0' + e / 10 % 10);
    *p++ = (char)('0' + e % 10);
    return p;
}

// A small printf: %z is a size_t, %g a double, %s a string in which quotes and
// backslashes are escaped.
static void adx_print(const adx_writer *w, const char *format, ...)
{
    char text[40];
    va_list args;

    va_start(args, format);
    for (const char *p = format; *p != 0; p++) {
        char *end = text;
        if (*p != '%')
            *end++ = *p;
        else if (*++p == 'z') {
            size_t n = va_arg(args, size_t);
            end = text + 1;
            for (size_t rest = n; rest > 9; rest /= 10)
                end++;
            for (char *q = end; q > text; n /= 10)
                *--q = (char)('0' + n % 10);
        } else if (*p == 'g') {
            double x = va_arg(args, double);
            if (x < 0)
                *end++ = '-';
            if (x - x == 0)
                end = adx_digits(end, x);
            else
                end = (char *)memcpy(end, x != x ? "nan" : "inf", 3) + 3;
        } else
            for (const char *q = va_arg(args, const char *); *q != 0; q++) {
                if (*q == '"' || *q == '\\')
                    w->write("\\", 1, w->user);
                w->write(q, 1, w->user);
            }
        if (end > text)
            w->write(text, (size_t)(end - text), w->user);
    }
    va_end(args);
}

/* --- a report in words --------------------------------------------------- */

// A column of a table: it counts what is written, and is filled up to its
// width.
typedef struct adx_cell_text {
    const adx_writer *w;
    size_t length;
} adx_cell_text;

static void adx_write_counted(const char *text, size_t length, void *user)
{
    adx_cell_text *f = (adx_cell_text *)user;
    f->length += length;
    f->w->write(text, length, f->w->user);
}

static void adx_fill_up(const adx_cell_text *f, size_t width)
{
    for (size_t i = f->length; i < width; i++)
        adx_print(f->w, " ");
    adx_print(f->w, " ");
}

static void adx_print_text(const adx_writer *w, const char *text, size_t width)
{
    adx_cell_text f = { w, 0 };
    adx_writer counted = { adx_write_counted, &f };
    adx_print(&counted, "%s", text);
    adx_fill_up(&f, width);
}

static void adx_print_real(const adx_writer *w, ad_real x, size_t width)
{
    adx_cell_text f = { w, 0 };
    adx_writer counted = { adx_write_counted, &f };
    adx_print(&counted, "%g", (double)x);
    adx_fill_up(&f, width);
}

static void adx_print_inputs(const adx_writer *w, const ad_check_entry *e,
                             size_t width)
{
    adx_cell_text f = { w, 0 };
    adx_writer counted = { adx_write_counted, &f };
    adx_print(&counted, e->inputs > 1 ? "%z to %z" : "%z", e->index,
              e->index + e->inputs - 1);
    adx_fill_up(&f, width);
}

#define ADX_VERDICT_WIDTH 9
#define ADX_INDEX_WIDTH  12
#define ADX_REAL_WIDTH   16

static void adx_print_check(const adx_writer *w, const ad_check_report *r,
                            const ad_check_entry *e)
{
    static const char *const verdict[ADREV_VERDICT_COUNT] = {
        "agrees", "DISAGREES", "kink", "noisy"
    };
    adx_print_text(w, verdict[e->verdict], ADX_VERDICT_WIDTH);
    if (r->outputs > 1) {
        ad_check_entry output = { .index = e->output, .inputs = 1 };
        adx_print_inputs(w, &output, ADX_INDEX_WIDTH);
    }
    adx_print_inputs(w, e, ADX_INDEX_WIDTH);
    adx_print_real(w, e->gradient, ADX_REAL_WIDTH);
    adx_print_real(w, e->difference, ADX_REAL_WIDTH);
    adx_print_real(w, e->error, 0);
    adx_print(w, "\n");
}

// The worst entry after `last` in the order of adx_is_worse, of two alike the
// earlier; NULL: none is left. So a table is sorted without memory of its own.
static const ad_check_entry *adx_next_worst(const ad_check_report *r,
                                            const ad_check_entry *last)
{
    const ad_check_entry *next = NULL;
    for (const ad_check_entry *e = r->entry; e < r->entry + r->listed; e++) {
        bool left = last == NULL || adx_is_worse(last, e)
                 || (e > last && !adx_is_worse(e, last));
        if (left && (next == NULL || adx_is_worse(e, next)))
            next = e;
    }
    return next;
}

static void adx_print_table(const adx_writer *w, const ad_check_report *r)
{
    const size_t most = 100;
    adx_print_text(w, "verdict", ADX_VERDICT_WIDTH);
    if (r->outputs > 1)
        adx_print_text(w, "output", ADX_INDEX_WIDTH);
    adx_print_text(w, "input", ADX_INDEX_WIDTH);
    adx_print_text(w, "derivative", ADX_REAL_WIDTH);
    adx_print_text(w, "differences", ADX_REAL_WIDTH);
    adx_print(w, "their error\n");
    if (r->entry == NULL || r->listed == 0)
        adx_print_check(w, r, &r->worst);
    const ad_check_entry *e = NULL;
    for (size_t i = 0; i < r->listed && i < most; i++) {
        e = adx_next_worst(r, e);
        adx_print_check(w, r, e);
    }
    if (r->listed > most)
        adx_print(w, "and %z more\n", r->listed - most);
}

// Says in words what to do about each verdict that occurs.
static void adx_print_advice(const adx_writer *w, const ad_check_report *r)
{
    static const char *const advice[ADREV_VERDICT_COUNT] = {
        "agree: the derivative is that of the differences.",
        "DISAGREE: a derivative was lost (.v, ad_value, ad_detach, a plain "
        "double), or a rule of your own is wrong. Take the first of them, and "
        "ask ad_explain what its derivative is made of.",
        "are on a kink: the slopes to both sides differ. Move x, or know that "
        "the derivative is one of many.",
        "cannot be told: f is too rough or too large here, or not finite. Take "
        "another x, or scale f."
    };
    static const int order[] = { ADREV_DISAGREES, ADREV_KINK, ADREV_NOISY,
                                 ADREV_AGREES };
    for (size_t i = 0; i < ADREV_VERDICT_COUNT; i++)
        if (r->counts[order[i]] > 0)
            adx_print(w, "%z of %z %s\n", r->counts[order[i]], r->checks,
                      advice[order[i]]);
    if (r->gap > 1)
        adx_print(w, "Forward and reverse sweeps DISAGREE, %g and %g along the "
                  "same direction: look for a pushforward that is not the "
                  "transpose of its pullback.\n", (double)r->forward,
                  (double)r->reverse);
}

ADX_API ad_status ad_check_print(const ad_check_report *report,
                                 ad_write_fn *write, void *user)
{
    const adx_writer w = { write, user };
    if (report == NULL || write == NULL || report->listed > report->room
        || adx_no_array(report->listed, report->entry))
        return ADREV_ESHAPE;
    if (!report->filled)
        adx_print(&w, "Nothing was checked: look at the status of ad_check.\n");
    else if (report->checks == 0)
        adx_print(&w, "Nothing was checked: there is no input or no output.\n");
    else {
        adx_print_table(&w, report);
        adx_print_advice(&w, report);
    }
    return ADREV_OK;
}

static void adx_write_inputs(const adx_writer *w, bool dot, size_t first,
                             size_t last)
{
    for (size_t i = first; dot && i <= last; i++)
        adx_print(w, "v%z [shape=box];\n", i);
    if (!dot && first <= last)
        adx_print(w, first < last ? "v%z to v%z: inputs\n" : "v%z: input\n",
                  first, last);
}

static void adx_write_statement(const adx_writer *w, bool dot,
                                const adx_cursor *at, unsigned header,
                                const adx_site *site)
{
    adx_print(w, dot ? "v%z [label=\"v%z" : "v%z =", at->seq, at->seq);
    for (size_t i = 0; i < adx_uses(at, header) && !dot; i++) {
        adx_operand use = adx_use_of(at, header, i);
        adx_print(w, i == 0 ? " " : " + ");
        if (i == 0 && header & ADX_SUM)
            adx_print(w, "sum v%z", (size_t)use.id);
        else
            adx_print(w, use.id == 0 ? "%g const" : "%g v%z", (double)use.d,
                      (size_t)use.id);
    }
    if (site->file != NULL)
        adx_print(w, dot ? "\\n%s:%z\\n%g" : "     %s:%z, value %g",
                  site->file, (size_t)site->line, (double)site->value);
    adx_print(w, dot ? "\"];\n" : "\n");
    for (size_t i = 0; i < adx_uses(at, header) && dot; i++) {
        adx_operand use = adx_use_of(at, header, i);
        if (use.id != 0)
            adx_print(w, "v%z -> v%z [label=\"%g\"];\n", at->seq,
                      (size_t)use.id, (double)use.d);
    }
}

// Writes where a region begins or ends. In a graph a region is a cluster, whose
// name has the number of its entry.
static void adx_write_edge(const adx_writer *w, bool dot, int edge,
                           const char *name, size_t entry, size_t *depth)
{
    if (edge == ADX_BEGIN) {
        adx_print(w, dot ? "subgraph cluster_%z { label=\"%s\";\n"
                         : "begin %z: %s\n", entry, name);
        ++*depth;
    } else if (!dot)
        adx_print(w, "end: %s\n", name);
    else if (*depth > 0) {
        adx_print(w, "}\n");
        --*depth;
    }
}

// Writes all entries in their order, as lines of text or as a graph of values
// (`dot`), in which a region that is never ended is closed at the end.
static ad_status adx_dump(const ad_tape *t, ad_write_fn *write, void *user,
                          bool dot)
{
    adx_writer w = { write, user };
    size_t depth = 0;
    size_t count = 0;
    adx_site site;

    if (t == NULL)
        return ADREV_ENOTAPE;
    adx_print(&w, dot ? "digraph tape {\nrankdir=BT;\n" : "");
    adx_write_inputs(&w, dot, 1, t->lead);
    adx_cursor at = { .seq = t->lead };
    size_t before = at.seq;
    for (unsigned header; (header = adx_next_with(t, &at, &site)) != 0;
         before = at.seq, count++) {
        const char *name = "";
        int edge = adx_edge_of_region(&at, header, &name);
        if (!(header & ADX_OTHER))
            adx_write_statement(&w, dot, &at, header, &site);
        else if (header == ADX_INPUTS)
            adx_write_inputs(&w, dot, before + 1, at.seq);
        else if (edge != 0)
            adx_write_edge(&w, dot, edge, name, count, &depth);
        else if (!dot)
            adx_print(&w, "other: kind %z, %z operands, %z values\n",
                      (size_t)header, at.operands, at.seq - before);
    }
    for (; dot && depth > 0; depth--)
        adx_print(&w, "}\n");
    adx_print(&w, dot ? "}\n" : "");
    return t->status;
}

ADX_API ad_status ad_dump_text(const ad_tape *t, ad_write_fn *write,
                               void *user)
{
    return adx_dump(t, write, user, false);
}

typedef struct adx_string {
    char *text;
    size_t room;
    size_t length;              // of all that was written
} adx_string;

static void adx_write_string(const char *text, size_t length, void *user)
{
    adx_string *s = (adx_string *)user;
    for (size_t i = 0; i < length; i++, s->length++)
        if (s->length + 1 < s->room)
            s->text[s->length] = text[i];
}

ADX_API size_t ad_dump_string(const ad_tape *t, size_t room, char text[])
{
    adx_string s = { text, text == NULL ? 0 : room, 0 };
    adx_dump(t, adx_write_string, &s, false);
    if (text != NULL && room > 0)
        text[s.length < s.room ? s.length : s.room - 1] = 0;
    return s.length;
}

ADX_API ad_status ad_dump_dot(const ad_tape *t, ad_write_fn *write,
                              void *user)
{
    return adx_dump(t, write, user, true);
}

ADX_SELDOM_END

#endif // ADREV_IMPLEMENTED
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
