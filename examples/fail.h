/* fail.h - one line on stderr, and the end of the program, for the examples.
 *
 *     fail(2, "usage: %s file", argv[0]);
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef FAIL_H
#define FAIL_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn static void fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(code);
}

#endif
