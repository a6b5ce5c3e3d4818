// tags: part
// A function that the operator table has: asks.c calls it, and nothing is written
// of it.
// SPDX-License-Identifier: MIT-0
#include <math.h>

double gsl_hypot(double x, double y);
double gsl_hypot(double x, double y) { return hypot(x, y); }
