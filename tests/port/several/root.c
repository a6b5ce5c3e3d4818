// tags: part
// What distance.c needs.
// SPDX-License-Identifier: MIT-0
#include <math.h>

double gsl_root(double x);
double gsl_root(double x) { return sqrt(x); }
