// SPDX-License-Identifier: MIT-0
// tags: part
/* python_model.c - functions of C that tests/python/adrev_test.py records.  */

#define ADREV_TRACE 1
#include "adrev.h"
void springs(const ad_rev *x, ad_rev *y, void *ctx);
void scaled(const ad_rev *x, ad_rev *y, void *ctx);

void springs(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(0.5, ad_add(ad_sqr(ad_sub(x[1], x[0])),
                                     ad_sqr(ad_sub(x[2], x[1])))));
    y[1] = ad_rec(ad_sin(x[2]));
}

void scaled(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = ad_rec(ad_mul(x[0], *(const double *)ctx));
}
