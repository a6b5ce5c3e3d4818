// tags: part
// SPDX-License-Identifier: MIT-0
// port: long double by a literal
// function: refused_long_double_literal
// with: x

double refused_long_double_literal(double x)
{
    x = x * 0.1L + 1; // refused: long double
    return x * x;
}
