// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function of math.h without a derivative in the library
// function: refused_library
// with: x

#define _GNU_SOURCE
#include <math.h>

double refused_library(double x)
{
    return x * significand(x); // refused: significand
}
