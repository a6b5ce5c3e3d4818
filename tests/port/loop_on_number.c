// tags: part
// SPDX-License-Identifier: MIT-0
// port: a loop whose variable and condition are numbers
// function: loop_on_number
// with: h
// in: 1
// out: 1
// at: 0.3
// call: y[0] = loop_on_number@(x[0]);
#include <math.h>


double loop_on_number(double h)
{
    double s = 0;
    for (double t = h; t < 2; t += h)
        s += h * exp(-t * h);
    return s;
}
