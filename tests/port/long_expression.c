// tags: part
// SPDX-License-Identifier: MIT-0
// port: an expression of more operands than a statement has
// function: long_expression
// with: x:n
// in: 8
// out: 1
// at: 1 2 3 4 5 6 7 8
// call: y[0] = long_expression@(x);

double long_expression(const double *x)
{
    return x[0] * x[1] + x[2] * x[3] - x[4] / x[5] + x[6] * (x[7] - x[0])
           + x[1] * x[2] * x[3] - (x[4] + x[5]) * (x[6] + x[7])
           + (x[0] - x[7]) / (x[1] * x[6] + x[2] / (x[3] + x[5] * x[4]))
           - x[0] * (x[1] * (x[2] + x[3] * (x[4] - x[5] / x[6])) * x[7]);
}
