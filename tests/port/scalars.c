// tags: part
// SPDX-License-Identifier: MIT-0
// port: scalar parameters, one of which is not an input
// function: scalars
// with: a
// with: b
// in: 2
// out: 1
// at: 1.5 -0.25
// call: y[0] = scalars@(x[0], x[1], 3.5, 2);

double scalars(double a, double b, double scale, int k)
{
    double t = a * b - scale;
    t = t / (a + k);
    return -t + +b;
}
