// tags: part
// SPDX-License-Identifier: MIT-0
// port: the bits of a number by a union
// function: refused_union
// with: x

#include <stdint.h>

double refused_union(double x)
{
    union { double d; uint64_t u; } bits = { x }; // refused: union|byte
    bits.u &= 0xfffffffff8000000;
    return x - bits.d;
}
