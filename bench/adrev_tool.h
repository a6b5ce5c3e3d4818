// SPDX-License-Identifier: MIT-0
/* adrev_tool.h - what adrev.c shares with adrev_real.c: one tape, and one
 * array of numbers that is kept like it. */

#ifndef BENCH_ADREV_TOOL_H
#define BENCH_ADREV_TOOL_H

#include "../adrev.h"

#include "workloads.h"

// A new recording, empty.
ad_tape *tool_clear(void);

// A new recording with the inputs of a case; extra numbers follow them.
ad_rev *tool_begin(const bench_case *c, const double *x, size_t extra);

// Value and gradient of what was recorded since tool_begin.
void tool_finish(const bench_case *c, const ad_rev *in, ad_rev out, double *y,
                 double *dy);

// Room for n numbers; the same as that of tool_begin.
ad_rev *tool_room(size_t n);

#endif
