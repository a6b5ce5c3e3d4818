// tags: part
// SPDX-License-Identifier: MIT-0
// port: literals of all forms
// function: literals
// with: x
// in: 1
// out: 1
// at: 0.4
// call: y[0] = literals@(x[0]);

double literals(double x)
{
    double r = .5 * x + 1.;
    r *= 0x1.8p-3 * x + 1e3;
    r += 0x10 * x - 010 + 'A' * x;
    r /= 1E-2 - 3u * x + 7ull;
    return r + x * 1.7976931348623157e308 * 1e-308 + 4.9406564584124654e-324;
}
