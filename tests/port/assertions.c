// tags: part
// SPDX-License-Identifier: MIT-0
// port: assert of numbers, and printing that is switched off
// function: assertions
// with: x
// in: 1
// out: 1
// at: 2
// call: y[0] = assertions@(x[0]);
#include <assert.h>
#include <math.h>
#define ROOT r                          // in an argument

double assertions(double x)
{
    const double r = sqrt(x);
    assert(x > 0);
    assert(fabs(r * r - x) < 1e-9 && "a root");
    assert(ROOT > 0 && !isnan(ROOT));
    return r * x;
}
