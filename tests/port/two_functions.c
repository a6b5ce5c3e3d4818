// tags: part
// SPDX-License-Identifier: MIT-0
// port: two functions of one file, both converted
// function: two_functions_f two_functions_g
// with: x:2
// in: 2
// out: 2
// at: 1 2
// call: y[0] = two_functions_f@(x); y[1] = two_functions_g@(x);

static double two_functions_help(double a) { return a * a; }

double two_functions_f(const double *x)
{
    return two_functions_help(x[0]) * x[1];
}

double two_functions_g(const double *x)
{
    return two_functions_f(x) + two_functions_help(x[1]);
}
