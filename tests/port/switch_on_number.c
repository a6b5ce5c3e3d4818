// tags: part
// SPDX-License-Identifier: MIT-0
// port: switch on a number cast to int
// function: switch_on_number
// with: x
// in: 1
// out: 1
// at: 0.5
// at: 1.5
// at: 7.25
// call: y[0] = switch_on_number@(x[0]);

double switch_on_number(double x)
{
    switch ((int)x) {
    case 0: return 2 * x;
    case 1: return x * x;
    }
    return x - (int)x;
}
