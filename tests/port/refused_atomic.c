// tags: part
// SPDX-License-Identifier: MIT-0
// port: an atomic number
// function: refused_atomic
// with: x

#include <stdatomic.h>

double refused_atomic(double x)
{
    _Atomic double sum = 1; // refused: atomic
    sum += x;
    return sum * x;
}
