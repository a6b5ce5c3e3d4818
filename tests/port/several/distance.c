// tags: part
// A function that the operator table has: asks.c calls it, and nothing is written
// of it, nor of root.c, which it needs.
// SPDX-License-Identifier: MIT-0
#include <math.h>

double gsl_root(double x);
double gsl_hypot(double x, double y);
double gsl_hypot(double x, double y) { return gsl_root(1) * hypot(x, y); }
