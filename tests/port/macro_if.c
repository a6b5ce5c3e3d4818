// tags: part
// SPDX-License-Identifier: MIT-0
// port: conditional compilation within a function
// function: macro_if
// with: x
// in: 1
// out: 1
// at: 0.6
// call: y[0] = macro_if@(x[0]);
#define PORT_ORDER 2

double macro_if(double x)
{
    double r = 1;
#if PORT_ORDER >= 2
    r += x * x / 2;
#else
#error not reached
#endif
#ifdef PORT_NEVER
    r = 0;
#endif
    return r + x;
}
