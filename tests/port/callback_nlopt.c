// tags: part
// SPDX-License-Identifier: MIT-0
// port: an objective with a gradient by hand beside it, as NLopt has them
// function: callback_nlopt
// with: x:n
// in: 2
// out: 1
// at: 1.234 5.678
// call: double data[2] = { 2, 0.5 };
// call: y[0] = callback_nlopt@(2, x, NULL, data);
#include <math.h>

double callback_nlopt(unsigned n, const double *x, double *grad, void *data)
{
    const double *d = data;
    const double a = d[0], b = d[1];
    if (grad) {
        grad[0] = 3 * a * (a * x[0] + b) * (a * x[0] + b);
        grad[1] = -1.0;
    }
    return (a * x[0] + b) * (a * x[0] + b) * (a * x[0] + b) - x[1]
           + sqrt(x[n - 1]);
}
