// tags: part
// SPDX-License-Identifier: MIT-0
// port: ?: with numbers, nested, and as an operand
// function: conditional
// with: a
// with: b
// in: 2
// out: 2
// at: 0.5 1
// at: 2 1
// at: -1 1
// call: y[0] = conditional@(x[0], x[1], 1); y[1] = conditional@(x[0], x[1], 0);

double conditional(double a, double b, int flag)
{
    double r = a > b ? a * a : a < 0 ? -a : b * a;
    r += 2 * (flag ? a : b);
    r *= flag ? 1 : b;
    return (a > b ? r : 0) + (flag ? 2.5 : r);
}
