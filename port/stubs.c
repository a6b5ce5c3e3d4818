/* stubs.c - stubs for functions whose source is not seen.
 *
 * A stub is a function of recorded numbers that calls the original with their
 * values, and ad_external with a rule whose partials are left to be written. A
 * line of the stub does not compile until that is done.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdio.h>
#include <string.h>

bool stubs_write(void)
{
    return true;
}
