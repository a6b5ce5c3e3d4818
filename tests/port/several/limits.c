// tags: part
// Data whose name is a macro of <math.h>, which this file does not include.
// SPDX-License-Identifier: MIT-0
double bounded(double x);

double INFINITY = 2.5;

double bounded(double x) { return x / INFINITY; }
