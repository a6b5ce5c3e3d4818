// SPDX-License-Identifier: MIT-0
// tags: part
/* include_other.c - the unit of tests/core/include.c and tests/core/include.cpp that
 * holds the implementation: the header before it, with it, and after it.    */

#include "adrev_struct.h"
#include "adrev_tensor.h"

#include "implementation.h"
#include "adrev_struct.h"
#include "adrev_tensor.h"
#include "adrev_struct.h"
#include "adrev_tensor.h"

ad_rev include_other_record(ad_rev x, ad_rev y);
double include_other_gradient(ad_tape *t, ad_rev y, ad_rev x);

ad_rev include_other_record(ad_rev x, ad_rev y)
{
    return ad_rec(ad_add(ad_mul(x, y), ad_exp(x)));
}

// NAN for an error
double include_other_gradient(ad_tape *t, ad_rev y, ad_rev x)
{
    ad_real g = 0;
    ad_status s = ad_gradient(t, y, 1, &x, &g);
    return s == ADREV_OK ? (double)g : (double)NAN;
}
