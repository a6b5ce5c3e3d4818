// tags: part
// SPDX-License-Identifier: MIT-0
// port: ?: that chooses an address or an index
// function: conditional_lvalue
// with: a
// with: b
// in: 2
// out: 2
// at: 0.5 1
// at: 2 1
// call: conditional_lvalue@(x[0], x[1], y);

void conditional_lvalue(double a, double b, double *z)
{
    z[0] = z[1] = a * b;
    *(a > b ? &z[0] : &z[1]) += 3 * a;
    z[a > b ? 1 : 0] *= b;
}
