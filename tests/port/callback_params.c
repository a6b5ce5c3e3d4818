// tags: part
// SPDX-License-Identifier: MIT-0
// port: a callback with void * data, cast to a structure, as GSL has them
// function: callback_params
// with: x
// in: 1
// out: 1
// at: 0.6
// call: struct quadratic_params p = { 1.5, -2, 0.5 };
// call: y[0] = callback_params@(x[0], &p);

struct quadratic_params { double a, b, c; };

double callback_params(double x, void *params)
{
    struct quadratic_params *p = (struct quadratic_params *)params;
    double a = p->a;
    double b = p->b;
    return (a * x + b) * x + p->c;
}
