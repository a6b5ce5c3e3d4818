// tags: part
// SPDX-License-Identifier: MIT-0
// port: the bits of a number by a cast of its address
// function: refused_bytes_cast
// with: x

#include <stdint.h>

double refused_bytes_cast(double x)
{
    double half = x * 0.5;
    uint64_t i = *(uint64_t *)&x; // refused: byte|cast|pointer|alias
    i = 0x5fe6eb50c7b537a9 - (i >> 1);
    x = *(double *)&i;
    return x * (1.5 - half * x * x);
}
