// SPDX-License-Identifier: MIT-0
/* shell.h - commands of the tests. Include it after check.h.
 *
 *     shell("cd %s && cc -c x.c", top)      whether the command ends well
 *     quick_compiler()                      of code that is run and compared:
 *                                           with -DFEW=1 tcc, if it is there    */

#ifndef ADREV_TESTS_SHELL_H
#define ADREV_TESTS_SHELL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

CHECK_PRINTF(1, 2) static inline bool shell(const char *format, ...)
{
    char line[900];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return system(line) == 0;
}

// It starts in a tenth of the time that "cc" takes, and has the bits of "cc
// -O0".
static inline const char *quick_compiler(void)
{
    static int there = -1;
    if (there < 0)
        there = ONE_IN(2) > 1 && shell("command -v tcc > /dev/null 2>&1");
    return there ? "tcc" : "cc";
}

#endif
