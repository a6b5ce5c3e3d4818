// tags: part
// SPDX-License-Identifier: MIT-0
// port: the bits of a number by memcpy
// function: refused_bytes_copy
// with: x

#include <stdint.h>
#include <string.h>

double refused_bytes_copy(double x)
{
    uint64_t bits;
    double r;
    memcpy(&bits, &x, sizeof bits); // refused: byte|alias
    bits &= 0x7fffffffffffffff;
    memcpy(&r, &bits, sizeof r);
    return r;
}
