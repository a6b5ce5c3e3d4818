// tags: part
// SPDX-License-Identifier: MIT-0
// port: _Generic over the type of a number
// function: generic_selection
// with: x
// in: 1
// out: 1
// at: 1.5
// call: y[0] = generic_selection@(x[0]);
#include <math.h>
#include <stdlib.h>
#define PORT_ROOT(x) _Generic((x), int: abs, double: sqrt)(x)

double generic_selection(double x)
{
    return PORT_ROOT(x + 1) * x;
}
