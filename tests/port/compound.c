// tags: part
// SPDX-License-Identifier: MIT-0
// port: compound assignment, all four, and their values
// function: compound
// with: x:4
// in: 4
// out: 2
// at: 1 2 3 4
// call: y[0] = y[1] = compound@(x, y + 1);

double compound(const double *x, double *z)
{
    double a = x[0], b;
    a += x[1];
    a *= a;
    a -= x[2] * a;
    a /= x[3] + a;
    b = a *= 2;
    b += a -= 1;
    z[0] = b;
    z[0] /= 3;
    *z -= a += b;
    return (a += 1) * b + z[0];
}
