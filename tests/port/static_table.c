// tags: part
// SPDX-License-Identifier: MIT-0
// port: static tables of constants, in the function and outside
// function: static_table
// with: x
// in: 1
// out: 1
// at: 0.3
// at: -0.7
// passive: gauss_node weight
// call: y[0] = static_table@(x[0]);
#include <math.h>

static const double gauss_node[3] = {
    -0.7745966692414834, 0, 0.7745966692414834,
};

double static_table(double x)
{
    static const double weight[] = { 5.0 / 9, 8.0 / 9, 5.0 / 9 };
    double s = 0;
    for (int i = 0; i < 3; i++)
        s += weight[i] * exp(x * gauss_node[i]);
    return s;
}
