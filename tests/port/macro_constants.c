// tags: part
// SPDX-License-Identifier: MIT-0
// port: constants and array sizes by macros
// function: macro_constants
// with: x:MACRO_SIZE
// in: 3
// out: 1
// at: 0.1 0.2 0.4
// call: y[0] = macro_constants@(x);
#include <math.h>
#define MACRO_SIZE 3
#define MACRO_RATE (0.5 / MACRO_SIZE)
#define MACRO_TWO_PI (2 * 3.14159265358979323846)

double macro_constants(const double *x)
{
    double w[MACRO_SIZE + 1], s = 0.0;
    w[MACRO_SIZE] = 1;
    for (int i = MACRO_SIZE; i-- > 0;)
        w[i] = MACRO_RATE * w[i + 1] + sin(MACRO_TWO_PI * x[i]);
    for (int i = 0; i < MACRO_SIZE; i++)
        s += w[i] * M_PI;
    return s;
}
