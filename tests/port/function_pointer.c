// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function by pointer, as a parameter
// function: function_pointer
// with: x:2
// in: 2
// out: 1
// at: 0.3 1.2
// call: y[0] = function_pointer@(x);
#include <math.h>

static double twice_applied(double (*f)(double), double x)
{
    return f((*f)(x));
}

static double logistic_of(double x) { return 1 / (1 + exp(-x)); }
static double cubed_of(double x) { return x * x * x; }

double function_pointer(const double *x)
{
    return twice_applied(logistic_of, x[0]) * twice_applied(&cubed_of, x[1]);
}
