// tags: part
// SPDX-License-Identifier: MIT-0
// port: pointers that walk
// function: rosenbrock_walk
// with: x:n
// in: 4
// out: 1
// at: -1.2 1 0.5 0.25
// call: y[0] = rosenbrock_walk@(4, x);
#include <math.h>

double rosenbrock_walk(int n, const double *x)
{
    const double *end = x + n - 1;
    double f = 0;
    while (x < end) {
        double a = *x++;
        double b = *x;
        f += 100 * pow(b - a * a, 2) + (1 - a) * (1 - a);
    }
    return f;
}
