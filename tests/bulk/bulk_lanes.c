// SPDX-License-Identifier: MIT-0
// tags: recorded slow
/* bulk_lanes.c - the array operators of adrev_bulk.h where adrev_function.h is
 * there: maps run in lanes; all is recorded as a function, too. See bulk.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#include "adrev_loop.h"

#include "check.h"
#include "bulk.h"
#include "bulk_fn.h"

int main(void)
{
    ad_tape *t = ad_tape_new();
    bulk_table();
    bulk_pairs(t);
    bulk_edges(t);
    bulk_oom();
    bulk_recorded(t);
    ad_tape_free(t);
    return check_done("bulk_lanes");
}
