/* The implementation of all headers, once: `make examples` links it.
 *
 * In a program of your own this is the whole of one file; the others include
 * the headers they use, without ADREV_IMPLEMENTATION.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_all.h"
