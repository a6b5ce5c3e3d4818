// tags: part
// SPDX-License-Identifier: MIT-0
// port: an output that no input reaches, beside one that they reach
// function: nothing_active
// with: x
// of: z:2
// in: 1
// out: 3
// at: 1.5
// call: y[2] = NUM(nothing_active@(x[0], y));

double nothing_active(double x, double *z)
{
    z[0] = 3.5;
    z[1] = x * x;
    return 2;
}
