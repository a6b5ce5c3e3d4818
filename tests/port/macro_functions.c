// tags: part
// SPDX-License-Identifier: MIT-0
// port: function-like macros: SQR(x), MAX(a, b), nested
// function: macro_functions
// with: x:3
// in: 3
// out: 1
// at: 1.5 -2 0.75
// at: -1.5 2 0.75
// call: y[0] = macro_functions@(x);
#define PORT_SQR(x) ((x) * (x))
#define PORT_MAX(a, b) ((a) > (b) ? (a) : (b))
#define PORT_HYP(a, b) (PORT_SQR(a) + PORT_SQR(b))
#define PORT_AT(v, i) (v)[(i) - 1]

double macro_functions(const double *x)
{
    double t = PORT_SQR(x[0] - x[1]) + PORT_MAX(x[1], PORT_SQR(x[2]));
    t *= PORT_HYP(PORT_AT(x, 1), PORT_AT(x, 3) + 1);
    return PORT_MAX(t, 0) - PORT_SQR(PORT_SQR(x[2]));
}
