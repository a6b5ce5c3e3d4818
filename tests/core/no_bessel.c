// SPDX-License-Identifier: MIT-0
// tags:
/* no_bessel.c - ADREV_NO_BESSEL: no Bessel functions, for C libraries that have
 * none. Nothing refers to jn and yn then, so a program may have these names;
 * the rows are there, with NaN.                                              */

#ifdef __STRICT_ANSI__
static const int jn = 3;
static const int yn = 4;
#endif

#define ADREV_NO_BESSEL
#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include "check.h"

#if defined ad_jn || defined ad_yn || defined ad_j0 || defined ad_y1
#error "Bessel functions are there"
#endif

int main(void)
{
#ifdef __STRICT_ANSI__
    CHECK(jn == 3 && yn == 4, "names of our own");
#endif
    CHECK_CLOSE(adx_f_jn(0, 1, 0), ADX_K(NAN), 0);
    CHECK_CLOSE(adx_f_yn(0, 1, 0), ADX_K(NAN), 0);
    CHECK_CLOSE(ad_value(ad_digamma(1)), ADX_K(-0.57721566490153286), 4);
    return check_done("no_bessel");
}
