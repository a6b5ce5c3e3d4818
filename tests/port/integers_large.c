// tags: part
// SPDX-License-Identifier: MIT-0
// port: large integers, sizes and differences of addresses as factors
// function: integers_large
// with: x:2
// in: 2
// out: 1
// at: 1.5 0.1
// call: y[0] = integers_large@(x);
#include <stdint.h>

double integers_large(const double *x)
{
    const uint64_t most = 18446744073709551615ull;
    const int64_t odd = 9007199254740993;
    const double *p = x + 1;
    int v[5];
    double r = x[0] * most / odd + x[1] * -odd / (1ll << 52);
    r += x[1] * (p - x) + x[0] * sizeof v - (x - p) * x[1];
    return r + x[0] * (unsigned)-1 / 4294967296u + (short)70000 * x[1];
}
