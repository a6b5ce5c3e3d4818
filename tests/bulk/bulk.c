// SPDX-License-Identifier: MIT-0
// tags: slow
/* bulk.c - the array operators of adrev_bulk.h, on one thread and without
 * recorded functions. See bulk.h.                                           */

#define ADREV_IMPLEMENTATION
#include "adrev_loop.h"

#include "check.h"
#include "bulk.h"

int main(void)
{
    ad_tape *t = ad_tape_new();
    bulk_table();
    bulk_pairs(t);
    bulk_edges(t);
    bulk_oom();
    ad_tape_free(t);
    return check_done("bulk");
}
