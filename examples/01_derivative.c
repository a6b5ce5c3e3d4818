/* 01  A loan: how much more is due each month when the interest rises?
 *
 * Shows    a tape, one input, one expression, one derivative
 * Needs    nothing
 * Prints   success: 605.98 per month, 52.7 more per point of interest
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include <stdio.h>

// 100000 paid back in 240 months at 4 % a year, in equal parts.
int main(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);

    ad_rev rate = ad_input(0.04);
    ad_rev month = ad_rec(ad_div(rate, 12));
    ad_rev rest = ad_rec(ad_pow(ad_add(1, month), -240));
    ad_rev payment = ad_rec(ad_div(ad_mul(100000, month), ad_sub(1, rest)));

    double slope = 0;
    ad_status status = ad_gradient(t, payment, 1, &rate, &slope);
    printf("%s: %.2f per month, %.1f more per point of interest\n",
           ad_message(status), ad_value(payment), slope / 100);

    ad_tape_free(t);
    return status != ADREV_OK;
}
