// tags: part
// SPDX-License-Identifier: MIT-0
// port: a sum with a number so large that it rounds
// function: refused_rounding
// with: x:2
// function: refused_rounding_compound
#include <float.h>

static const double to_whole = 1.5 / DBL_EPSILON;

double refused_rounding(const double *x)
{
    const double big = 6755399441055744.0;
    const double a = x[0] + big - big; // refused: rounds to a whole number
    const double b = x[1] + to_whole; // refused: rounds to a whole number
    double m = 4503599627370496.0;
    const double c = x[1] + m; // refused: rounds to a whole number
    return c - m + (x[0] - a) * (x[1] - (b - to_whole));
}

static double never_written = 6755399441055744.0;

double refused_rounding_compound(const double *x)
{
    const double shifted = (double)(1LL << 52);
    double r = x[0];
    r += 6755399441055744.0; // refused: rounds to a whole number
    r -= 6755399441055744.0; // refused: rounds to a whole number
    r *= x[0] + never_written - x[1]; // refused: rounds to a whole number
    return r + (x[1] + shifted); // refused: rounds to a whole number
}
