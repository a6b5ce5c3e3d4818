// tags: part
// SPDX-License-Identifier: MIT-0
// port: long double, complex and vectors of constants only
// function: passive_odd_types
// with: x
// in: 1
// out: 1
// at: 0.5
// bytes: 8
// tolerance: 1e-8
// call: y[0] = passive_odd_types@(x[0]);
#include <complex.h>
#include <math.h>

double passive_odd_types(double x)
{
    long double third = 1.0L / 3;
    double complex z = cexp(I * 0.5);
    double w = creal(z * z) + (double)(third * 6);
    return x * x * w + (double)third;
}
