// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function of numbers that <math.h> does not declare here, so it is an int
// function: refused_undeclared_power
// with: x
#include <math.h>

double refused_undeclared_power(double x)
{
    return x * pow10(x); // refused: not declared
}
