// SPDX-License-Identifier: MIT-0
// tags: part
/* function_debug.c - the unit of function_errors.c that is compiled with
 * ADREV_DEBUG, whatever the implementation's file is compiled with.         */

#undef ADREV_DEBUG
#undef ADREV_TRACE
#define ADREV_DEBUG 1
#define ADREV_TRACE 1
#include "adrev.h"

void function_debug(const ad_rev *x, ad_rev *y, void *ctx);

// *ctx: the line of the comparison.
void function_debug(const ad_rev *x, ad_rev *y, void *ctx)
{
    int *line = ctx;
    *line = __LINE__ + 1;
    y[0] = ad_lt(x[0], 2) ? ad_rec(ad_sqr(x[0])) : x[0];
}
