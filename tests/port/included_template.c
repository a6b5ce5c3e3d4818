// tags: part
// SPDX-License-Identifier: MIT-0
// port: code that is included, with macros that end there
// function: included_template
// with: x
// in: 1
// out: 1
// at: 0.75
// keeps: const double first = 0.25
// call: y[0] = included_template@(x[0]);
#include "included_filled.h"

double included_template(double x)
{
    double v[4] = { x, x, x, x };
    filled_number(v, 2);
    return v[0] * v[1] + v[2] * v[3];
}
