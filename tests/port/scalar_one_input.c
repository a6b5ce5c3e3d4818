// tags: part
// SPDX-License-Identifier: MIT-0
// port: one of two scalar parameters is an input; the other stays plain
// function: scalar_one_input
// with: b
// in: 1
// out: 1
// at: 0.3
// passive: a half
// call: y[0] = scalar_one_input@(2.5, x[0]);

double scalar_one_input(double a, double b)
{
    double half = a / 2;
    return half * b + a;
}
