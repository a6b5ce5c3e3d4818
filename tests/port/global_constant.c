// tags: part
// SPDX-License-Identifier: MIT-0
// port: global constants, and a global that is set before
// function: global_constant
// with: x:2
// in: 2
// out: 1
// at: 1.5 0.2
// call: y[0] = global_constant@(x);

static double gravity_here = 9.81;
static const double length_here = 2.5;
static const int powers_here = 3;

double global_constant(const double *x)
{
    double r = x[1];
    for (int i = 0; i < powers_here; i++)
        r = r * x[0] + gravity_here / length_here;
    return r;
}
