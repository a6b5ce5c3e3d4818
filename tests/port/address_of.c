// tags: part
// SPDX-License-Identifier: MIT-0
// port: results through addresses of local variables
// function: address_of
// with: x:2
// in: 2
// out: 1
// at: 0.7 1.9
// call: y[0] = address_of@(x);
#include <math.h>

static void polar(double a, double b, double *r, double *phi)
{
    *r = sqrt(a * a + b * b);
    *phi = atan2(b, a);
}

double address_of(const double x[2])
{
    double r, phi;
    polar(x[0], x[1], &r, &phi);
    return r * r * phi;
}
