// tags: part
// SPDX-License-Identifier: MIT-0
// port: sizes of tables of constants, in an enumeration and a loop
// function: sizes_of_tables
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = sizes_of_tables@(x);
#include <string.h>

static const double sized_drift[][2] = { { 1, 0.5 }, { 2, 0.25 } };

double sizes_of_tables(const double *x)
{
    enum { ROWS = (int)(sizeof sized_drift / sizeof(double) / 2) };
    double s = 0, v[3], fixed[3];
    memset(v, 0, 3 * sizeof(double));
    memcpy(fixed, sized_drift, 3 * sizeof(double));
    for (int i = 0; i < ROWS; i++)
        v[i] = sized_drift[i][0] * x[i] + sized_drift[i][1] * x[2];
    for (int i = 0; i < 3; i++)
        s += v[i] * v[i] * fixed[i];
    return s;
}
