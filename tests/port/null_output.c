// tags: part
// SPDX-License-Identifier: MIT-0
// port: an output that may be NULL
// function: null_output
// with: x:2
// of: g:2
// in: 2
// out: 3
// at: 0.5 -2
// call: y[0] = null_output@(x, NULL);
// call: y[0] = NUM(null_output@(x, y + 1));
#include <stddef.h>

double null_output(const double *x, double *g)
{
    if (g) {
        g[0] = 2 * x[0] * x[1];
        g[1] = x[0] * x[0];
    }
    return x[0] * x[0] * x[1];
}
