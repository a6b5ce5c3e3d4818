// tags: part
// SPDX-License-Identifier: MIT-0
// port: the line is that where the macro stands
// function: refused_in_macro
// with: x

double legacy_macro(double);
#define REFUSED_TWICE(e) (legacy_macro(e) * 2)

double refused_in_macro(double x)
{
    double r = x * x;
    r += REFUSED_TWICE(r); // refused: legacy_macro
    return r;
}
