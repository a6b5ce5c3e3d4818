// tags: part
// SPDX-License-Identifier: MIT-0
// port: a long loop
// function: loop_long
// with: r
// with: x
// in: 2
// out: 1
// at: 2.7 0.3
// call: y[0] = loop_long@(x[0], x[1], 20000);

double loop_long(double r, double x, int n)
{
    double mean = 0;
    for (int i = 0; i < n; i++) {
        x = r * x * (1 - x);
        mean += (x - mean) / (i + 1);
    }
    return mean;
}
