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
#define PORT_SQUARE(x) _Generic((x), int: generic_whole, double: generic_square)(x)

static double generic_square(double x) { return x * x; }

static int generic_whole(int n) { return n * n; }

double generic_selection(double x)
{
    return PORT_ROOT(x + 1) * x + PORT_SQUARE(x) * PORT_SQUARE(3);
}
