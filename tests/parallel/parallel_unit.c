// SPDX-License-Identifier: MIT-0
// tags: part
/* parallel_unit.c - the implementation in a unit of C, for tests/parallel/tbb.cpp.   */

#include "implementation.h"
#include "adrev_parallel.h"
