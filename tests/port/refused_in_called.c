// tags: part
// SPDX-License-Identifier: MIT-0
// port: the line is that of the called function
// function: refused_in_called
// with: x

double legacy_inner(double);

static double calls_it(double v)
{
    return legacy_inner(v) + 1; // refused: legacy_inner
}

double refused_in_called(double x)
{
    return calls_it(x) * calls_it(2 * x);
}
