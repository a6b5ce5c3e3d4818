// SPDX-License-Identifier: MIT-0
/* planted.h - two faults that every analyser of tools/analyse.sh has to find,
 * in a header as the rooms are, with what adrev.h says about warnings. Their
 * lines end with `fault`.                                                    */

#if defined __GNUC__ && !defined __clang__ && !defined ADREV_STRICT
#pragma GCC system_header
#endif

int planted_null(unsigned n);
int planted_unset(unsigned n);

int planted_null(unsigned n)
{
    const int *p = NULL;
    return n == 7 ? *p : 0;     // fault
}

int planted_unset(unsigned n)
{
    int unset;
    if (n != 7)
        unset = (int)n;
    return unset > 3 ? 2 : 1;   // fault
}
