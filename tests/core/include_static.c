// SPDX-License-Identifier: MIT-0
// tags:
// flags:
// with: include_other.c
/* include_static.c - a private copy of the library beside the linked one:
 * neither knows of the other's tapes.                                       */

#define ADREV_STATIC
#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "adrev.h"
#include "check.h"

ad_rev include_other_record(ad_rev x, ad_rev y);

int main(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_mul(x, ad_mul(x, x)));
    ad_real g = 0;
    CHECK(ad_gradient(t, y, 1, &x, &g) == ADREV_OK && g == 12,
          "got %g, want 12", (double)g);

    // There is no tape over there, so nothing is recorded; nor is it here.
    size_t values = ad_tape_stats(t).values;
    ad_rev z = include_other_record(ad_rec(ad_detach(x)), (ad_rev){ .v = 1 });
    CHECK(z.job == 0, "recorded by the other copy");
    CHECK(ad_tape_stats(t).values == values, "recorded on this tape");
    ad_tape_free(t);
    return check_done("include_static");
}
