// SPDX-License-Identifier: MIT-0
/* check_cpp.h - the checks of tests in C++, of which check.h knows nothing.
 *
 *     CHECK(condition)                 prints the condition that fails
 *     return check_done("name");       prints the one line of a good run    */

#ifndef ADREV_TESTS_CHECK_CPP_H
#define ADREV_TESTS_CHECK_CPP_H

#include <cstdio>

static int check_passed;
static int check_failed;

static inline void check(bool right, const char *what, const char *file,
                         int line)
{
    check_passed += right;
    check_failed += !right;
    if (!right)
        std::printf("%s:%d: %s\n", file, line, what);
}

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

static inline int check_done(const char *name)
{
    std::printf("%s: %d passed, %d failed\n", name, check_passed,
                check_failed);
    return check_failed != 0;
}

#endif
