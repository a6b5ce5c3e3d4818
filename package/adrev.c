/* adrev.c - the implementation of all headers: libadrev, for programs that
 * define ADREV_IMPLEMENTATION nowhere.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_all.h"
