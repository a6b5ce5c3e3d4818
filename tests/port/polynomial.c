// tags: part
// SPDX-License-Identifier: MIT-0
// port: arrays by [], a loop, an integer exponent counted by hand
// function: polynomial
// with: x:2
// in: 2
// out: 1
// at: 0.5 2
// at: -1.25 0.75
// call: y[0] = polynomial@(x, 5);

/* Horner's rule, and the same by powers. */
double polynomial(const double *x, int n)
{
    double s = 0, p = 1;
    for (int i = 0; i < n; i++) {
        s = s * x[0] + (i + 1);
        p *= x[1];
    }
    return s + p;
}
