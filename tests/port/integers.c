// tags: part
// SPDX-License-Identifier: MIT-0
// port: integer arithmetic mixed in: / % << & of integers, promotion
// function: integers
// with: x:4
// in: 4
// out: 1
// at: 1 2 3 4
// call: y[0] = integers@(x, 4);

double integers(const double *x, int n)
{
    unsigned mask = 0;
    double s = 0;
    for (int i = 0; i < n; i++) {
        const int k = (i * 7 + 3) % n;
        s += x[k] * (i / 2) + 1 / (i + 1) * x[i] + (1 << i);
        mask |= 1u << k;
        if (mask & 2)
            s *= 1.25;
    }
    s += x[0] * (5 / 2) - x[1] * (5 / 2.0) + x[2] * 'a' / 10L;
    return s + (mask ^ 3) * x[3] + -mask / 4e9;
}
