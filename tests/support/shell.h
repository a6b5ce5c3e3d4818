// SPDX-License-Identifier: MIT-0
/* shell.h - commands of the tests. Include it after check.h.
 *
 *     shell("cd %s && cc -c x.c", top)      whether the command ends well     */

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

#endif
