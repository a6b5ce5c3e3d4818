// SPDX-License-Identifier: MIT-0
// tags: part
/* errors_plain.c - the unit of tests/core/errors.c that is compiled without
 * ADREV_TRACE, and so cannot tell a trace hook what it does.                */

#undef ADREV_TRACE
#define ADREV_TRACE 0
#include "adrev.h"

ad_rev errors_plain_product(ad_rev x, ad_rev y);

ad_rev errors_plain_product(ad_rev x, ad_rev y)
{
    return ad_rec(ad_mul(x, y));
}
