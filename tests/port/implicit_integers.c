// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers that become integers without a cast: initialisers,
//       arguments, returns, assignments
// function: implicit_integers
// with: x
// in: 1
// out: 1
// at: 4.75
// call: y[0] = implicit_integers@(x[0]);
#include <stdlib.h>

static int halved_int(int n) { return n / 2; }
static int floor_int(double v) { return v < 0 ? v - 1 : v; }

double implicit_integers(double x)
{
    int n = x * 2;
    unsigned char c = x;
    long m, k;
    double half;
    m = x / 0.5;
    k = half = x / 2;
    n += halved_int(x) + floor_int(x) + abs((int)-x);
    return x * n + m * x + c + k * half;
}
