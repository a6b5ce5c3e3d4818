// tags: part
// SPDX-License-Identifier: MIT-0
// port: long double within an expression
// function: refused_long_double_cast
// with: x

double refused_long_double_cast(double x)
{
    return (double)((long double)x * x); // refused: long double
}
