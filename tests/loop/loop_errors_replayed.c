// SPDX-License-Identifier: MIT-0
// tags: recorded
// flags: -DADREV_REPLAY_FROM=1
/* loop_errors_replayed.c - loop_errors.c with steps that are recorded as
 * functions and replayed: these fail, too.                                   */

#define LOOP_ERRORS_REPLAYED
#include "loop_errors.c"
