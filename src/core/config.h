#pragma once

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
