// SPDX-License-Identifier: MIT-0
// Code that a file includes behind what it uses: tests/port/included_code.c.
#define MIDDLE_HALF (MIDDLE_WEIGHT / 2)

static double middle_sum(const middle_data *d, const double *x)
{
    double s = 0;
    for (int i = 0; i < d->n; i++)
        s += MIDDLE_HALF * x[i] * x[i] + middle_shift[i % 2];
    return s;
}
#undef MIDDLE_WEIGHT
