// tags: part
// SPDX-License-Identifier: MIT-0
// port: a grid that is looked up by (int)(x / h), and by floor
// function: table_index
// with: x:2
// in: 2
// out: 1
// at: 1.35 0.75
// call: y[0] = table_index@(x);
#include <math.h>

static const double grid_values[4][3] = {
    { 1, 2, 4 }, { 0, 3, 1 }, { 2, 2, 5 }, { 1, 0, 1 },
};

double table_index(const double *x)
{
    const double h = 0.5;
    int i = (int)(x[0] / h), j = floor(x[1] / h);
    double u = x[0] / h - i, v = x[1] / h - j;
    if (i > 2)
        i = 2;
    return (1 - u) * (1 - v) * grid_values[i][j]
           + u * (1 - v) * grid_values[i + 1][j]
           + (1 - u) * v * grid_values[i][j + 1]
           + u * v * grid_values[i + 1][j + 1];
}
