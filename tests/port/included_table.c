// tags: part
// SPDX-License-Identifier: MIT-0
// port: a table whose numbers stand in a file of their own
// function: included_table
// with: x
// in: 1
// out: 1
// at: 0.5
// call: y[0] = included_table@(x[0]);

double included_table(double x)
{
    static const double c[] = {
#include "included_numbers.h"
    };
    double s = 0;
    for (int i = (int)(sizeof c / sizeof *c); i-- > 0;)
        s = s * x + c[i];
    return s;
}
