// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions in a table, chosen by an index
// function: function_table
// with: x
// in: 1
// out: 3
// at: 0.3
// call: for (int i = 0; i < 3; i++) y[i] = function_table@(x[0], i);
#include <math.h>

static double table_gauss(double r) { return exp(-r * r); }
static double table_quadric(double r) { return sqrt(1 + r * r); }
static double table_inverse(double r) { return 1 / table_quadric(r); }

static double (*const kernel_table[])(double) = {
    table_gauss, table_quadric, table_inverse,
};

double function_table(double x, int which)
{
    return kernel_table[which](x) * x;
}
