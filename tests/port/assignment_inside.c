// tags: part
// SPDX-License-Identifier: MIT-0
// port: assignments within conditions, arguments and indices
// function: assignment_inside
// with: x:3
// in: 3
// out: 1
// at: 1.5 2 0.25
// call: y[0] = assignment_inside@(x);
#include <math.h>

static double halved_of(double v) { return v / 2; }

double assignment_inside(const double *x)
{
    double a, b, c = 0, v[3] = { 0 };
    int i;
    if ((a = x[0] * x[1]) > 1 && (b = a + x[2]) < 50)
        c = a * b;
    while ((b = halved_of(a)) > 0.3)
        a = b;
    v[i = 1] = x[2];
    c += halved_of(v[0] = a * x[2]) + v[i];
    for (i = 0; (a = sqrt(a + x[0])) > 1.9 && i < 3; i++)
        c += a;
    return c += v[0] * a;
}
