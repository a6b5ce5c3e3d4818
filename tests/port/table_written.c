// tags: part
// SPDX-License-Identifier: MIT-0
// port: a table of constants that another function of the file reads, too
// function: table_written
// with: x
// in: 1
// out: 1
// at: 0.5
// call: y[0] = table_written@(x[0]);

static double table_numbers[] = { 1, 2, 3 };

static double table_series(double x, double *c, int n)
{
    double s = *c++;
    while (--n)
        s = s * x + *c++;
    return s;
}

double table_written(double x)
{
    return table_series(x, table_numbers, 3);
}

double table_other(double x)
{
    return table_series(x, table_numbers, 2);
}
