// SPDX-License-Identifier: MIT-0
/* check.h - the checks of the tests. Include it after adrev.h, in the one
 * file of the program.
 *
 *     CHECK(condition, format, ...)    the text says what was expected
 *     CHECK_CLOSE(got, want, ulps)     units in the last place of ad_real;
 *                                      0: the same number, NaN for NaN
 *     CHECK_NEAR(got, want, relative)  |got - want| <= relative |want|
 *     DROP(ad_rec(...));               a number that is not wanted on purpose
 *     ONE_IN(5)                        5 with -DFEW=1, otherwise 1: of how many
 *                                      random trials one is made where a plan
 *                                      has no time for all
 *     return check_done("name");       prints the one line of a good run
 *
 * got and want are long double, so that an oracle is compared unrounded.    */

#ifndef ADREV_TESTS_CHECK_H
#define ADREV_TESTS_CHECK_H

#include <float.h>
#include <stdarg.h>
#include <stdio.h>

#ifdef __GNUC__
#define CHECK_PRINTF(text, args) __attribute__((format(printf, text, args)))
#else
#define CHECK_PRINTF(text, args)
#endif

// Tests want tapes that grow, whoever gives the memory.
#if defined ADREV_NO_STDLIB && !(defined ADREV_FIXED && ADREV_FIXED)
#include <stdlib.h>

static inline void *check_alloc(size_t bytes, void *unused)
{
    (void)unused;
    return malloc(bytes);
}

static inline void check_free(void *block, void *unused)
{
    (void)unused;
    free(block);
}

static inline ad_tape *ad_tape_new(void)
{
    const ad_allocator memory = { .alloc = check_alloc, .free = check_free };
    return ad_tape_new_with(&memory);
}
#endif

// With CHECK_FIRST the first failure ends the program.
#ifdef CHECK_FIRST
#include <stdlib.h>
#define CHECK_END() exit(1)
#else
#define CHECK_END() ((void)0)
#endif

// Failures that are printed; the others are counted.
#ifndef CHECK_SHOWN
#define CHECK_SHOWN 20
#endif

#ifdef FEW
#define ONE_IN(n) (n)
#else
#define ONE_IN(n) 1
#endif

// gcc warns of results that are not used even where they are cast to void.
#define DROP(number)                                                        \
    do {                                                                    \
        const ad_rev check_dropped = (number);                              \
        (void)check_dropped;                                                \
    } while (0)

static long check_passed;
static long check_failed;

CHECK_PRINTF(4, 5) static inline bool
check_that(bool right, const char *file, int line, const char *format, ...)
{
    check_passed += right;
    check_failed += !right;
    if (right || check_failed > CHECK_SHOWN)
        return right;
    va_list args;
    va_start(args, format);
    printf("%s:%d: ", file, line);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    CHECK_END();
    return right;
}

// The distance from want in units of its last place, subnormal ones included;
// an infinity is right where want is beyond the largest number.
static inline long double check_ulps(long double got, long double want)
{
    bool single = sizeof(ad_real) == sizeof(float);
    int lowest = single ? FLT_MIN_EXP - FLT_MANT_DIG
                        : DBL_MIN_EXP - DBL_MANT_DIG;
    int exponent = 0;
    if (got == want || (isnan(got) && isnan(want))
        || got == (long double)(ad_real)want)
        return 0;
    if (isnan(got) || isnan(want) || isinf(got) || isinf(want))
        return (long double)INFINITY;
    frexpl(want, &exponent);
    exponent -= single ? FLT_MANT_DIG : DBL_MANT_DIG;
    const long double ulp = ldexpl(1, exponent > lowest ? exponent : lowest);
    return fabsl(got - want) / ulp;
}

#define CHECK(condition, ...)                                               \
    check_that((condition), __FILE__, __LINE__, __VA_ARGS__)

// Passed as an array: what is cast to long double where it is passed, and what
// waits while a long double is passed, TinyCC loses.
#define CHECK_LONG(...) (const long double[3]){ __VA_ARGS__ }

#define CHECK_CLOSE(got, want, ulps)                                        \
    check_close(CHECK_LONG((long double)(got), (long double)(want),         \
                           (long double)(ulps)), #got, __FILE__, __LINE__)

#define CHECK_NEAR(got, want, relative)                                     \
    check_near(CHECK_LONG((long double)(got), (long double)(want),          \
                          (long double)(relative)), #got, __FILE__, __LINE__)

static inline bool check_close(const long double number[3], const char *what,
                               const char *file, int line)
{
    const long double got = number[0];
    const long double want = number[1];
    const long double ulps = number[2];
    const long double off = check_ulps(got, want);
    return check_that(off <= ulps, file, line,
                      "%s: got %.20Lg, want %.20Lg: %.3Lg ulps, allowed %.3Lg",
                      what, got, want, off, ulps);
}

static inline bool check_near(const long double number[3], const char *what,
                              const char *file, int line)
{
    const long double got = number[0];
    const long double want = number[1];
    const long double off = fabsl(got - want);
    const long double size = fabsl(want);
    const long double allowed = number[2] * size;
    bool near = got == want || (isnan(got) && isnan(want)) || off <= allowed;
    return check_that(near, file, line,
                      "%s: got %.20Lg, want %.20Lg: off by %.3Lg, allowed %.3Lg",
                      what, got, want, off, allowed);
}

static inline int check_done(const char *name)
{
    printf("%s: %ld passed, %ld failed\n", name, check_passed, check_failed);
    return check_failed != 0;
}

#endif
