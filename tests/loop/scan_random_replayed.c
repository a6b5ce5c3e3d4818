// SPDX-License-Identifier: MIT-0
// tags: recorded slow
// flags: -DADREV_REPLAY_FROM=1
/* scan_random_replayed.c - scan_random.c with steps that are recorded as
 * functions and replayed.                                                    */

#define SCAN_RANDOM_REPLAYED
#include "scan_random.c"
