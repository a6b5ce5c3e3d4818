// tags: part
// SPDX-License-Identifier: MIT-0
// port: what would be refused, but concerns constants only, is converted
// function: bytes_of_constants
// with: x
// in: 1
// out: 1
// at: 0.5
// passive: seed mantissa
// tolerance: 1e-8
// bytes: 8
// call: y[0] = bytes_of_constants@(x[0]);

#include <stdint.h>
#include <string.h>

union plain_bits { double d; uint64_t u; };

double bytes_of_constants(double x)
{
    double seed = 1.75, mantissa;
    uint64_t bits;
    union plain_bits b;
    memcpy(&bits, &seed, sizeof bits);
    bits ^= 1;
    memcpy(&mantissa, &bits, sizeof mantissa);
    b.d = mantissa;
    b.u &= ~(uint64_t)1;
    return x * mantissa + b.d;
}
