// tags: part
// SPDX-License-Identifier: MIT-0
// port: statements in an expression, outside a macro
// function: refused_statements_inside
// with: x:2

double refused_statements_inside(const double *x)
{
    const double y = ({ double t = x[0] * x[1]; t * t; }); // refused: not understood
    return y + x[0];
}
