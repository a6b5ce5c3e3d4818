// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions that a macro defines, names made by ##
// function: macro_defines_function
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// call: y[0] = macro_defines_function@(x);
#define PORT_DEFINE(name, op) \
    static double made_##name(double a, double b) { return a op b; }

PORT_DEFINE(sum, +)
PORT_DEFINE(product, *)
#define PORT_MADE(name) made_##name

double macro_defines_function(const double *x)
{
    return made_sum(x[0], PORT_MADE(product)(x[0], x[1]));
}
