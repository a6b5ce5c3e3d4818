// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function that looks at numbers as bytes in the case that is asked for
// function: refused_tested
// with: x

static int is_odd(void *value, int what)
{
    if (what == 0 && value == 0)
        return 1;
    if (what != 2)
        return 0;
    return *(int *)value & 1;
}

double refused_tested(double x)
{
    double y = x * x;
    return is_odd(&y, 2) ? y : 2 * y; // refused: lose|type|bytes|alias
}
