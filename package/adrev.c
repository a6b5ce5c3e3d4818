/* adrev.c - the implementation of all headers: libadrev.a, for programs that
 * define ADREV_IMPLEMENTATION nowhere.
 *
 * Without <xxhash.h> it is that of the headers which do not need it.
 *
 * SPDX-License-Identifier: MIT-0
 */

#if defined __has_include
#if !__has_include(<xxhash.h>)
#define ADREV_NO_XXHASH
#endif
#endif

#define ADREV_TRACE 1               // for functions that are recorded
#define ADREV_IMPLEMENTATION
#ifndef ADREV_NO_XXHASH
#include "adrev_parallel.h"
#include "adrev_function.h"
#endif
#include "adrev_loop.h"
#include "adrev_struct.h"
#include "adrev_tensor.h"
