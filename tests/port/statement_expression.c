// tags: part
// SPDX-License-Identifier: MIT-0
// port: a statement expression and typeof of GNU C
// function: statement_expression
// with: x:2
// in: 2
// out: 1
// at: 1.5 0.5
// may: refuse
// call: y[0] = statement_expression@(x);
#define PORT_LARGER(a, b) \
    __extension__({ __typeof__(a) la = (a), lb = (b); la > lb ? la : lb; })

double statement_expression(const double *x)
{
    return PORT_LARGER(x[0] * x[1], x[0] - 1) * x[0];
}
