// SPDX-License-Identifier: MIT-0
// tags: part
/* border.c - the implementation, and functions of C that C++ calls, for
 * operators.cpp.                                                            */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

struct pair { ad_rev a; ad_fwd b; };

ad_rev border_back(ad_rev x);           // of operators.cpp
ad_rev border_rev(ad_rev x, const ad_rev *y, double z);
ad_fwd border_fwd(ad_fwd x, ad_fwd y);
struct pair border_pair(struct pair p);

ad_rev border_rev(ad_rev x, const ad_rev *y, double z)
{
    return ad_rec(ad_add(border_back(x), ad_mul(*y, z)));
}

ad_fwd border_fwd(ad_fwd x, ad_fwd y)
{
    return ad_dual(ad_mul(x, y));
}

struct pair border_pair(struct pair p)
{
    p.a = ad_rec(ad_mul(p.a, 2));
    p.b = ad_dual(ad_sqr(p.b));
    return p;
}
