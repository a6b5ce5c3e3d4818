// SPDX-License-Identifier: MIT-0
/* operators_loops.c - loops of operators.cpp in C: operators.sh.            */

#include "adrev.h"

void statement_c(size_t n, const ad_rev *x, const ad_rev *y, ad_rev *z);
void sum_c(size_t n, const ad_rev *x, const ad_rev *y, ad_rev *z);
ad_fwd forward_c(size_t n, ad_fwd x, ad_fwd y);

void statement_c(size_t n, const ad_rev *x, const ad_rev *y, ad_rev *z)
{
    for (size_t i = 1; i + 1 < n; i++)
        z[i] = ad_rec(ad_add(
            ad_sub(ad_mul(x[i], ad_sin(y[i])),
                   ad_mul(0.3, ad_sub(x[i + 1], x[i - 1]))),
            ad_div(y[i], ad_add(1, ad_mul(x[i], x[i])))));
}

void sum_c(size_t n, const ad_rev *x, const ad_rev *y, ad_rev *z)
{
    ad_rev s = { 0 };
    for (size_t i = 1; i + 1 < n; i++)
        ad_acc(&s, ad_mul(x[i], y[i]));
    z[0] = s;
}

ad_fwd forward_c(size_t n, ad_fwd x, ad_fwd y)
{
    for (size_t i = 0; i < n; i++)
        x = ad_dual(ad_add(ad_mul(x, y),
                           ad_mul(0.3, ad_sub(x, ad_mul(y, y)))));
    return x;
}
