// SPDX-License-Identifier: MIT-0
/* told.h - what the functions of a rule did, in order: a letter for each call.
 * Include it after check.h.
 *
 *     tell('a');                        notes the letter; returns true
 *     expect_told("ab", "a sweep");     what was noted since the last time
 *     expect_told(told, "nothing");     forgets it                           */

#include <string.h>

static char told[2048];
static size_t tells;

static inline bool tell(char letter)
{
    if (tells < sizeof told - 1)
        told[tells++] = letter;
    told[tells] = 0;
    return true;
}

static inline void expect_told(const char *want, const char *when)
{
    CHECK(strcmp(told, want) == 0, "%s: got \"%s\", want \"%s\"", when, told,
          want);
    tells = 0;
    told[0] = 0;
}
