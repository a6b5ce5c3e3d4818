/* The same with adrev_mpi.h, for the examples on several ranks.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_loop.h"
#include "adrev_mpi.h"
