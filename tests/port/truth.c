// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers as conditions
// function: truth
// with: a
// with: b
// in: 2
// out: 1
// at: 0 2
// at: 3 0.5
// gradient: 0 7
// call: y[0] = truth@(x[0], x[1]);

double truth(double a, double b)
{
    double r = a ? b / a : b;
    if (a)
        r += a;
    for (double c = 3; c; c--)
        r += c * b;
    return a || b ? r : 0;
}
