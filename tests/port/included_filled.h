// SPDX-License-Identifier: MIT-0
/* included_filled.h - a part of included_template.c: macros that end here. */

#define FILLED double
#define FILLED_FIRST 0.25
#define FILLED_NAME(name) name##_number
#define FILLED_STEP 2

static inline void FILLED_NAME(filled)(FILLED *x, int n)
{
    const FILLED first = FILLED_FIRST;
    for (int i = 0; i < n; i++)
        x[FILLED_STEP * i] = first;
}

#undef FILLED
#undef FILLED_FIRST
#undef FILLED_NAME
#undef FILLED_STEP
