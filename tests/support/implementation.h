// SPDX-License-Identifier: MIT-0
/* implementation.h - include it before the headers of adrev, in one file of the
 * program. The implementation is in this file; or, where tests/run.sh defines
 * TESTS_UNIT, in a unit that several tests of a group of builds share. Not for
 * tests that set switches or use private names.                             */

#ifndef TESTS_UNIT
#define ADREV_IMPLEMENTATION
#endif
