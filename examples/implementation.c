/* The implementation of all headers, once: `make examples` links it.
 *
 * In a program of your own this is the whole of one file; the others include
 * the headers they use, without ADREV_IMPLEMENTATION.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_TRACE 1               // for functions that are recorded
#define ADREV_IMPLEMENTATION
#include "adrev_parallel.h"
#include "adrev_function.h"
#include "adrev_loop.h"
#include "adrev_struct.h"
#include "adrev_tensor.h"
