// SPDX-License-Identifier: MIT-0
// tags:
// flags:
// with: include_other.c
/* include.c - two units of one program, the header twice in each, the
 * implementation in the other one: either of them records or sweeps what the
 * other one recorded.                                                       */

#include "adrev.h"
#include "adrev.h"
#include "check.h"

#include <string.h>

ad_rev include_other_record(ad_rev x, ad_rev y);
double include_other_gradient(ad_tape *t, ad_rev y, ad_rev x);

int main(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x = ad_input(2);
    ad_rev y = ad_input(3);
    ad_real g = 0;

    ad_rev here = ad_rec(ad_add(ad_mul(x, y), ad_exp(x)));
    ad_rev there = include_other_record(x, y);
    CHECK_CLOSE(there.v, here.v, 0);
    CHECK_CLOSE(include_other_gradient(t, here, x), 3 + exp(2.0), 1);
    CHECK(ad_gradient(t, there, 1, &x, &g) == ADREV_OK, "gradient");
    CHECK_CLOSE(g, 3 + exp(2.0), 1);

    // across the border and back
    ad_rev z = ad_rec(ad_mul(include_other_record(here, there), x));
    double want = here.v * here.v + exp(here.v)
                + 2 * (3 + exp(2.0)) * (2 * here.v + exp(here.v));
    CHECK_NEAR(include_other_gradient(t, z, x), want, 1e-14L);

    CHECK(strcmp(ad_version(), ADREV_VERSION) == 0, "linked with %s, not %s",
          ad_version(), ADREV_VERSION);
    CHECK(ADREV_VERSION_NUMBER == ADREV_VERSION_MAJOR * 10000
              + ADREV_VERSION_MINOR * 100 + ADREV_VERSION_PATCH, "version");
    ad_tape_free(t);
    return check_done("include");
}
