// SPDX-License-Identifier: MIT-0
/* operators.cpp - loops of operators_loops.c in C++: operators.sh.                */

#include "adrev.h"

extern "C" void statement_cpp(size_t n, const ad_rev *x, const ad_rev *y,
                              ad_rev *z)
{
    for (size_t i = 1; i + 1 < n; i++)
        z[i] = x[i] * sin(y[i]) - 0.3 * (x[i + 1] - x[i - 1])
             + y[i] / (1 + x[i] * x[i]);
}

extern "C" void sum_cpp(size_t n, const ad_rev *x, const ad_rev *y, ad_rev *z)
{
    ad_rev s = 0;
    for (size_t i = 1; i + 1 < n; i++)
        s += x[i] * y[i];
    z[0] = s;
}

extern "C" ad_fwd forward_cpp(size_t n, ad_fwd x, ad_fwd y)
{
    for (size_t i = 0; i < n; i++)
        x = x * y + 0.3 * (x - y * y);
    return x;
}
