// tags: part
// SPDX-License-Identifier: MIT-0
// port: the body of a function stands in a file, which macros make a function of
// function: included_body
// with: x:n
// in: 4
// out: 2
// at: 1 2 3 4
// at: -1 0.5 3 0.25
// call: y[0] = included_body@(4, x); y[1] = included_apart@(4, x);
// function: included_apart

#define BODY_BEGINS 0.5
#define BODY_TERM(x) ((x) * (x))

double included_body(int n, const double *x)
{
#define BODY_NUMBER double
#include "included_sum.h"
#undef BODY_NUMBER
}

double included_apart(int n, const double *x)
{
    double product = 1;
    // The factors.
#include "included_factors.h"
    return product + n;
}
