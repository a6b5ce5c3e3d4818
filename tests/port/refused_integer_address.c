// tags: part
// SPDX-License-Identifier: MIT-0
// port: the address of a number as an integer
// function: refused_integer_address
// with: x

#include <stdint.h>

double refused_integer_address(double x)
{
    double v = x * x;
    uintptr_t at = (uintptr_t)&v; // refused: alias|integer|address|pointer|byte
    *(double *)at *= 2;
    return v;
}
