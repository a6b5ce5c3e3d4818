// tags: part
// SPDX-License-Identifier: MIT-0
// port: the value before a change is used after it
// function: old_value
// with: x:3
// in: 3
// out: 3
// at: 1 2 3
// call: old_value@(x, y);

void old_value(const double *x, double *z)
{
    double a = x[0], b = x[1], t;
    for (int i = 0; i < 5; i++) {
        t = a;
        a = b;
        b = t + b * x[2] / 4;
        t *= 2;
    }
    z[0] = z[1] = z[2] = t;
    z[0] = a + z[1];
    z[1] = b * z[0];
}
