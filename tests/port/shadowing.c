// tags: part
// SPDX-License-Identifier: MIT-0
// port: names that are declared again in inner blocks
// function: shadowing
// with: x
// in: 1
// out: 1
// at: 1.5
// call: y[0] = shadowing@(x[0]);

double shadowing(double x)
{
    double a = x, r = 0;
    for (int a = 0; a < 3; a++) {
        double x = a * 0.5;
        r += x;
    }
    {
        int x = 4;
        double r = a * x;
        a = r;
    }
    return a + r * x;
}
