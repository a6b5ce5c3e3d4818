// tags: part
// SPDX-License-Identifier: MIT-0
// port: parentheses and the order of operations, whose bits differ
// function: precedence
// with: x:4
// in: 4
// out: 1
// at: 0.1 0.2 0.3 0.7
// at: 1e10 1 -1e10 3
// call: y[0] = precedence@(x);

double precedence(const double *x)
{
    const double a = x[0], b = x[1], c = x[2], d = x[3];
    double r = a + b + c - (a + (b + c));
    r += a - (b - c) - d + a / b / d * c - a / (b / d) * c;
    r += -a * b + -(a * b) - -c;
    return r + a * (b + c) * d - (a * b + c) * d / (a / d);
}
