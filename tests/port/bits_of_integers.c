// tags: part
// SPDX-License-Identifier: MIT-0
// port: a random generator on integers beside numbers
// function: bits_of_integers
// with: x
// in: 1
// out: 1
// at: 1.25
// call: y[0] = bits_of_integers@(x[0], 40);
#include <math.h>
#include <stdint.h>

static uint32_t xorshift_state;

static double uniform_plain(void)
{
    uint32_t s = xorshift_state;
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    xorshift_state = s;
    return s / 4294967296.0;
}

double bits_of_integers(double x, int n)
{
    double s = 0;
    xorshift_state = 2463534242u;
    for (int i = 0; i < n; i++)
        s += exp(-x * uniform_plain());
    return s / n;
}
