// tags: part
// SPDX-License-Identifier: MIT-0
// port: a macro that casts to the type of an expression, as <tgmath.h> does
// function: macro_typeof
// with: x:2
// in: 2
// out: 1
// at: 0.5 1.25
// call: y[0] = macro_typeof@(x);
#include <math.h>

#define AS_BOTH(a, b) (__typeof__((a) + (b)))
#define POWER_OF(a, b) pow(AS_BOTH(a, b)(a), AS_BOTH(a, b)(b))

double macro_typeof(const double *x)
{
    return x[0] * POWER_OF(x[1], 2);
}
