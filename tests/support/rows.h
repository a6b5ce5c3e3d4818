// SPDX-License-Identifier: MIT-0
/* rows.h - each operation of the table, and each step function, as a function of
 * an array: rev_NAME(a, k) records it, fwd_NAME(a, k) evaluates it forward. k
 * is an exponent, or says which side ad_select takes: y if it is above 0, else
 * z. Another FRONT_select may be defined before.                             */

#ifndef ADREV_TESTS_ROWS_H
#define ADREV_TESTS_ROWS_H

#include "fronts.h"

#ifndef FRONT_select
#define FRONT_select(name, x, y, z)  ad_select(k > 0, y, z)
#endif
#define FRONT_integer(name, x, y, z) ad_##name(x, k)
#define FRONT_order(name, x, y, z)   ad_##name(k, y)

#define ROWS_DEFINE(name, n, ...)                                           \
    static ad_rev rev_##name(const ad_rev *a, int k)                        \
    {                                                                       \
        (void)k;                                                            \
        return ad_rec(CALL(name, n, a[0], a[1], a[2]));                     \
    }                                                                       \
    static ad_fwd fwd_##name(const ad_fwd *a, int k)                        \
    {                                                                       \
        (void)k;                                                            \
        return ad_dual(CALL(name, n, a[0], a[1], a[2]));                    \
    }
#define ROWS_STEP(name, ...) ROWS_DEFINE(name, 1, 0)
ADREV_OPS(ROWS_DEFINE)
ADREV_STEPS(ROWS_STEP)
#undef ROWS_DEFINE
#undef ROWS_STEP

#endif
